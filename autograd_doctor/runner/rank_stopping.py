"""When one of several processes stops: never by its own clock, which would leave the others waiting in a collective.

Who has seen enough first, as a program alone does, gives the word a few steps ahead, and each process stops when it has
taken as many; one that does not come so far, because the others are gone or because it counts fewer steps, is ended.
If nothing moves in any of them, they hang. Where ranks run on several machines and share no folder, nobody
gives the word, and the program runs to its end.

A process that trains nothing itself, such as one that has started the others and waits for them, goes on as long as
one of them trains, and stops when they have.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.plan import Ranks
from autograd_doctor.ranks import Talk
from autograd_doctor.runner.stopping import Stopper, StopReason

_AHEAD = 3
"""Ranks that wait for one another in each step are one step apart at most when the word reaches them."""
_TO_FOLLOW = 30.0
_TO_SHOW = 1.0
"""Seconds in which each process says where it stands, before the first of those that hang is ended."""
_TO_END = 5.0
"""Seconds that a program has to come to its end by itself when all that it had started to train has stopped."""


class RankStopper(Stopper):
    """A `Stopper` that gives others the word, or waits for theirs.

    is_member: the program has started this process. show: says where it stands.
    """

    def __init__(
        self, ranks: Ranks, *arguments: Any, is_member: bool, show: Callable[[], None], **options: Any
    ) -> None:
        super().__init__(*arguments, **options)
        self._show = show
        self._shown_at = float("inf")
        self._all_hang = False
        self._talk = Talk(ranks)
        self._can_talk = bool(ranks.folder)
        self._is_rank = ranks.are_several
        self._is_member = is_member
        self._word: int | None = None
        self._wanted: StopReason = "steps"
        self._until = float("inf")

    @property
    def is_stopping(self) -> bool:
        """Whether the ranks have been told to stop: what fails from then on is a consequence of that."""
        return super().is_stopping or self._word is not None

    def program_over(self) -> None:
        """One that waits in a collective, having taken fewer steps, fails when the others stop: it hears why."""
        self._listen()
        super().program_over()

    def over(self) -> None:
        """Stop watching, and let the others know."""
        super().over()
        self._say_over()

    def _say_over(self) -> None:
        if self._can_talk and (self._training or self._is_rank):
            self._talk.say_over()

    @property
    def _has_others(self) -> bool:
        """Whether this is one of those that may wait for each other."""
        return self._is_rank or self._is_member or (self._can_talk and self._talk.others_train())

    def _trained(self, course: Course) -> None:
        is_first = not self._training
        super()._trained(course)
        if is_first and self._can_talk:
            self._talk.say_training()

    def _due(self, taken: int) -> StopReason | None:
        if self._word is None and (reason := super()._due(taken)):
            if not self._has_others:
                return reason
            self._give(taken, reason)
        self._listen()
        return self._wanted if self._word is not None and taken >= self._word else None

    def _time_is_up(self, now: float) -> None:
        if not self._has_others:
            super()._time_is_up(now)
        elif self._word is None and (self._training or self._is_rank):
            self._give(self._course.steps if self._course else 0, "time")

    def _look(self, now: float) -> None:
        self._listen()
        if self._word is None or self.reason is not None:
            return
        if self._training or self._is_rank:
            self._follow(now)
        elif not self._is_member and not self._talk.others_train():
            self._until = min(self._until, now + _TO_END)
            if now >= self._until:
                self._stop_between_steps(now, self._wanted)

    def _follow(self, now: float) -> None:
        """Come to the step that was named, or say where it stands and be ended."""
        self._until = min(self._until, now + _TO_FOLLOW)
        self._standstill.heeds_wakes = False
        self._talk.say_still(self._hangs(now))
        self._all_hang |= self._talk.all_are_still()
        if (self._all_hang or now >= self._until) and now < self._shown_at:
            self._show()
            self._shown_at = now
        if now >= self._shown_at + _TO_SHOW:
            with self._lock:
                self.reason = "hung" if self._all_hang else "time"
            self._end_hard()

    def _give(self, taken: int, reason: StopReason) -> None:
        if self._can_talk:
            self._wanted = reason
            self._talk.give_word(taken + _AHEAD)

    def _listen(self) -> None:
        if self._word is None and self._can_talk:
            self._word = self._talk.word()
