"""When one rank of several stops: never by its own clock, which would leave the others waiting in a collective.

Rank 0 decides as a program alone does. It gives the word a few steps ahead, and each rank stops when it has taken as
many; one that does not come so far, because the others are gone or because it counts fewer steps, is ended. Where ranks
run on several machines nobody gives the word, and the program runs to its end.
"""

from __future__ import annotations

from typing import Any

from autograd_doctor.plan import Ranks
from autograd_doctor.ranks import Talk
from autograd_doctor.runner.stopping import Stopper, StopReason

_AHEAD = 3
"""Ranks that wait for one another in each step are one step apart at most when the word reaches them."""
_TO_FOLLOW = 30.0


class RankStopper(Stopper):
    """A `Stopper` that waits for the word of rank 0, or gives it."""

    def __init__(self, ranks: Ranks, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._talk = Talk(ranks)
        self._decides = ranks.rank == 0 and bool(ranks.folder)
        self._word: int | None = None
        self._wanted: StopReason = "steps"
        self._follow_until = float("inf")

    @property
    def is_stopping(self) -> bool:
        """Whether the ranks have been told to stop: what fails from then on is a consequence of that."""
        return super().is_stopping or self._word is not None

    def _due(self, taken: int) -> StopReason | None:
        if self._decides and self._word is None and (reason := super()._due(taken)):
            self._give(taken, reason)
        self._listen()
        return self._wanted if self._word is not None and taken >= self._word else None

    def _time_is_up(self, now: float) -> None:
        if self._decides and self._word is None:
            self._give(self._course.steps if self._course else 0, "time")

    def _look(self, now: float) -> None:
        self._listen()
        if self._word is not None:
            self._follow_until = min(self._follow_until, now + _TO_FOLLOW)
        if now >= self._follow_until and self.reason is None:
            self.reason = "time"
            self._end_hard()

    def _give(self, taken: int, reason: StopReason) -> None:
        self._wanted = reason
        self._talk.give_word(taken + _AHEAD)

    def _listen(self) -> None:
        if self._word is None:
            self._word = self._talk.word()
