"""This process, watched for as long as it trains: chapter after chapter, at a price that is kept."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Callable, Iterable
from threading import get_ident
from typing import NamedTuple

import torch
from torch.optim import Optimizer

from autograd_doctor.clock import CLOCK
from autograd_doctor.events.cycle import WeightsDrawnAnew
from autograd_doctor.events.event import Event
from autograd_doctor.events.numerics import NonFiniteInput, NonFiniteProduced
from autograd_doctor.events.run import MoreDetailNeeded
from autograd_doctor.events.steps import NonFiniteGradient
from autograd_doctor.instruments.session import Memories
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.instruments.spine.late_losses import KnownLoss, LateLosses
from autograd_doctor.plan import Looked, Plan
from autograd_doctor.reading.optimizer_groups import parameters_of
from autograd_doctor.reading.subclasses import gradient_of, is_plain
from autograd_doctor.reading.tensor_facts import is_checkable, is_remote, is_spoiled
from autograd_doctor.reading.variable_names import variable_name
from autograd_doctor.reading.without_running import attributes
from autograd_doctor.runner.allowance import Allowance, lasting_from
from autograd_doctor.runner.chapter import Chapter
from autograd_doctor.runner.surprise import Surprises
from autograd_doctor.runner.within import ending, living_optimizers
from autograd_doctor.signals.modules import ModuleCall, TrainCall
from autograd_doctor.signals.optimizers import StepCall

LEAST_STEPS = 40
"""Steps of a chapter that are watched as in a check: ten of each phase in full, and as many that are compared."""
LATER = 5
"""Times as many steps of a chapter that is earned, from the third on, nearly all of them light: what goes wrong once in
an epoch, and in each, shows in several of them."""
MOST_STEPS = 300
"""Where something is new all the time, the chapter rests all the same."""
DOUBLED_FROM = 1000
REST = 20.0
"""Steps from which on a run is looked at each time that it has become twice as long, and seconds between chapters that
come for no such reason, nor for news: what may be spent in advance is to last for the run of minutes."""
_MOST_DOUBLINGS = 4
"""The part of the advance that losses which leave their course may take grows with each of so many doublings: they do
so more often than all else that is new."""
MOST_SECOND_LOOKS = 5
"""Chapters that follow at once, whatever they cost, because an error was found."""
MOST_SPOILED = 3
"""Evaluations to look into because the one before gave NaN or Inf, which may stand for what is not there."""


class Judges(NamedTuple):
    """What is done with a chapter, outside of torch's calls; it returns what is to be raised in the program.

    plan: of a chapter, by its number and the steps before. recorded: each event as it is recorded. judged: what was
    recorded so far. settles_at: the step from which on another chapter tells whether what was found lasts.
    failed: a mistake of ours, or a disk that is full; nothing is watched any more.
    """

    plan: Callable[[int, int], Plan]
    recorded: Callable[[Event], None]
    judged: Callable[[Chapter, Looked], BaseException | None]
    settles_at: Callable[[], float]
    failed: Callable[[Exception], None]


class Monitored:
    """Watches this process from `begin` to `end`.

    One chapter is open all the time. Instruments come and go at the beginning of a forward, where gradients are
    cleared, or where a backward begins: never inside torch's hooks, which are not to change while they run.

    chapters: how many there have been.
    """

    def __init__(self, judges: Judges, allowance: Allowance) -> None:
        self._judges = judges
        self._allowance = allowance
        self._surprises = Surprises()
        self._memories: Memories = {}
        self._chapter: Chapter | None = None
        self.chapters = self._counted = 0
        self._process = os.getpid()
        self._began = CLOCK.monotonic()
        self._thread = get_ident()
        self._is_turning = self._waits = False
        self._hears_reads = self._evaluation_spoiled = self._urgent = False
        self._spoiled_evaluations = self._second_looks = 0
        self._spoiled_in = -1
        self._must_follow = self._is_unearned = False
        self._again_at = math.inf
        """The step from which on it is looked again at what was new: some of it does not show at once."""
        self._stepped_at = self._quiet_at = self._busy_at = self._settled_at = 0.0

    @property
    def steps(self) -> int:
        """How many the program has taken."""
        return self._chapter.step if self._chapter is not None else self._counted

    @property
    def is_resting(self) -> bool:
        """Whether only the pulse is taken at present."""
        return self._chapter is None or self._chapter.settled

    def begin(self) -> None:
        """Open the first chapter."""
        self._open(1, 0, filter(variable_name, living_optimizers()))

    def end(self, error: BaseException | None) -> None:
        """Take everything out again; `error` is what the program raised."""
        chapter, self._chapter = self._chapter, None
        if chapter is None or os.getpid() != self._process:
            return
        self._counted = chapter.step
        reason, code = ending(error)
        is_crash = error is not None and reason == "raised"
        try:
            chapter.end(reason, code, error if is_crash else None)
            self._judges.judged(chapter, "pulse" if chapter.settled else "closely")
        except Exception as failure:
            self._judges.failed(failure)

    # ------------------------------------------------------------------------------------------------------- chapters

    def _open(self, number: int, steps: int, optimizers: Iterable[Optimizer]) -> None:
        chapter = self._chapter = Chapter(self._judges.plan(number, steps), number, self._recorded, self._memories)
        chapter.begin(optimizers)
        self.chapters = number
        course, losses = chapter.session.find(Course), chapter.session.find(LateLosses)
        signals = chapter.session.signals
        if course is not None:
            chapter.hear(course.step_taken, self._step_taken)
        if losses is not None:
            chapter.hear(losses.known, self._loss_known)
        chapter.hear(signals.train_modes.began, self._mode_switched)
        self._is_turning = self._must_follow = self._hears_reads = False
        self._is_unearned = not self._allowance.is_earned()
        if steps >= self._again_at:
            self._again_at = math.inf
        self._begin_step()

    def _turn_soon(self, *, before_evaluation: bool = False) -> None:
        """Go on at the next place at which instruments may come and go, which may be where an evaluation begins."""
        if self._is_turning or self._chapter is None:
            return
        self._is_turning, self._waits = True, not before_evaluation
        signals = self._chapter.session.signals
        for signal in (signals.modules.began, signals.clearing.began, signals.backward.began):
            self._chapter.hear(signal, self._at_a_turn)

    def _at_a_turn(self, what: object) -> None:
        """Not in the midst of an evaluation, of which a part may be unlike the whole."""
        is_evaluation = isinstance(what, ModuleCall) and not what.grad_enabled
        if self._chapter is not None and get_ident() == self._thread and not (is_evaluation and self._waits):
            self._chapter.session.signals.guard.defer(self._turn)

    def _turn(self) -> None:
        """Have the open chapter rest, or open the next one. What is raised is for the program."""
        chapter = self._chapter
        if not self._is_turning or chapter is None:
            return
        began = CLOCK.perf_counter()
        self._is_turning = False
        try:
            chapter.ignore(self._at_a_turn)
            stop = self._turned(chapter)
        except Exception as failure:
            self._give_up(chapter, failure)
            return
        self._allowance.spend(CLOCK.perf_counter() - began)
        self._allowance.first_is_over()
        self._begin_step()
        if stop is not None:
            raise stop

    def _turned(self, chapter: Chapter) -> BaseException | None:
        if not chapter.settled:
            chapter.settle(self._news)
            self._allowance.chapter_is_over()
            self._settled_at = CLOCK.monotonic()
            stop = self._judges.judged(chapter, "closely")
            if self._must_follow or self._must_settle(chapter):
                self._turn_soon()
            return stop
        optimizers = chapter.optimizers()
        chapter.end("steps", 0)
        stop = self._judges.judged(chapter, "pulse")
        chapter.let_go()
        self._open(chapter.number + 1, chapter.step, optimizers)
        return stop

    def _must_settle(self, chapter: Chapter) -> bool:
        """Whether an error was found, of which a second look tells at once, a few times whatever that costs."""
        if self._judges.settles_at() > chapter.step + 1 or self._second_looks >= MOST_SECOND_LOOKS:
            return False
        self._second_looks += 1
        return True

    def _give_up(self, chapter: Chapter, failure: Exception) -> None:
        """The program goes on without us: whatever fails of ours is no failure of its own."""
        opened, self._chapter, self._counted = self._chapter, None, chapter.step
        for each in (chapter, opened):
            if each is not None:
                with contextlib.suppress(Exception):  # the first failure is told
                    each.end("steps", 0)
        self._judges.failed(failure)

    # ---------------------------------------------------------------------------------------------------------- steps

    def _begin_step(self) -> None:
        chapter = self._chapter
        self._stepped_at = CLOCK.perf_counter()
        self._quiet_at = chapter.clock.seconds() if chapter is not None else 0.0
        if chapter is not None and not chapter.settled:
            self._busy_at = CLOCK.thread_time()

    def _busy(self) -> float:
        """Seconds of the processor since the last step; an accelerator works, and is waited for, without it."""
        return math.inf if torch.accelerator.is_available() else max(0.0, CLOCK.thread_time() - self._busy_at)

    def _step_taken(self, course: Course) -> None:
        chapter = self._chapter
        if chapter is None:
            return
        passed, self._counted = course.steps - self._counted, course.steps
        self._thread = get_ident()
        seconds = CLOCK.perf_counter() - self._stepped_at
        looked = seconds - (chapter.clock.seconds() - self._quiet_at)
        if chapter.settled:
            self._hear_reads(chapter, hear=False)
            self._allowance.plain_steps(passed, seconds, looked)
            if self._is_due(chapter, course.steps):
                self._turn_soon()
        else:
            self._allowance.looked_at_step(seconds, looked, self._busy())
            if self._has_seen_enough(chapter, course.steps - chapter.first):
                self._turn_soon()
        self._begin_step()

    def _is_due(self, chapter: Chapter, steps: int) -> bool:
        """Each time that its steps have doubled a run is looked at, in advance if need be; beyond, as it is paid for.

        The second chapter comes soon: what it finds, and the first does not, is not to be trusted (`chapters.unsure`).
        """
        least = 2 * LEAST_STEPS if chapter.number == 1 else DOUBLED_FROM
        if steps >= max(least, 2 * chapter.first):
            return self._allowance.may_double()
        if steps >= self._judges.settles_at() and self._allowance.may_hurry():
            return True
        if steps >= self._again_at and self._allowance.may_double():
            return True
        has_rested = CLOCK.monotonic() >= self._settled_at + REST
        return has_rested and self._allowance.is_earned()

    def _has_seen_enough(self, chapter: Chapter, steps: int) -> bool:
        """What a loss that is not finite leaves of a run is seen at once."""
        detail = chapter.session.find(Detail)
        is_short = self._is_unearned or chapter.number <= 2 or chapter.number <= self._spoiled_in + 1
        least = LEAST_STEPS if is_short else LATER * LEAST_STEPS
        return steps >= MOST_STEPS or (steps >= least and not (detail is not None and detail.full))

    # ----------------------------------------------------------------------------------------------------------- news

    @property
    def _doublings(self) -> float:
        """How often the run has become twice as long as one of a thousand steps, or of some seconds."""
        return math.log2(1 + max(self.steps / DOUBLED_FROM, (CLOCK.monotonic() - self._began) / REST))

    @property
    def _is_young(self) -> bool:
        """Whether the run is soon looked at anyway."""
        return self._doublings < 1

    def _news(self, part: float = 1.0) -> None:
        """Something is new while only the pulse is taken: the next chapter begins, if so large a part of the advance is
        left. Much is new in the first steps of a run.
        """
        if self._allowance.is_earned() if self._is_young else self._allowance.may_hurry(part):
            self._again_at = lasting_from(self.steps + LEAST_STEPS)
            self._turn_soon()

    def _mode_switched(self, call: TrainCall) -> None:
        """An evaluation is about to begin, which chapters seldom meet by chance.

        One comes for it if it is paid for, and once, whatever that costs, where the one before gave what is not finite.
        """
        chapter = self._chapter
        if chapter is None or not chapter.settled:
            return
        self._hear_reads(chapter, hear=not call.training)
        is_first = self._evaluation_spoiled and self._spoiled_evaluations == 1
        hurries = self._evaluation_spoiled and self._allowance.may_hurry()
        is_paid = self._allowance.is_earned() if self._is_young else self._allowance.is_paid()
        if not call.training and (is_first or hurries or is_paid):
            self._evaluation_spoiled = False
            self._turn_soon(before_evaluation=True)

    def _hear_reads(self, chapter: Chapter, *, hear: bool) -> None:
        """Of an evaluation: in each step, optimizers read many numbers."""
        if hear is not self._hears_reads:
            self._hears_reads = hear
            if hear:
                chapter.hear(chapter.session.signals.value_reads.read, self._value_read)
            else:
                chapter.ignore(self._value_read)

    def _value_read(self, tensor: torch.Tensor) -> None:
        """A bare signal. An accelerator is not waited for."""
        chapter = self._chapter
        is_told = self._evaluation_spoiled or self._spoiled_evaluations >= MOST_SPOILED
        if chapter is None or is_told or not is_plain(tensor):
            return
        with chapter.session.signals.guard.looking():
            is_number = tensor.numel() == 1 and not tensor.requires_grad and not is_remote(tensor)
            if is_number and is_checkable(tensor) and is_spoiled(tensor):
                self._evaluation_spoiled = True
                self._spoiled_evaluations += 1

    def _loss_known(self, loss: KnownLoss) -> None:
        chapter = self._chapter
        if self._surprises.add(loss.place, loss.value) and chapter is not None and chapter.settled:
            self._news(min(1.0, self._doublings / _MOST_DOUBLINGS))

    def _recorded(self, event: Event) -> None:
        self._judges.recorded(event)
        chapter = self._chapter
        if chapter is None:
            return
        if isinstance(event, MoreDetailNeeded):
            self._spoiled(chapter)
        if isinstance(event, WeightsDrawnAnew) and chapter.settled:
            self._news()
        if isinstance(event, NonFiniteProduced | NonFiniteInput):
            self._judge_soon(chapter)
        if isinstance(event, NonFiniteGradient) and not event.absorbed:
            chapter.hear(chapter.session.signals.steps.began, self._spoiled_step_began)

    def _judge_soon(self, chapter: Chapter) -> None:
        if not self._urgent:
            self._urgent = True
            chapter.session.signals.guard.defer(self._judge_now)

    def _spoiled_step_began(self, call: StepCall) -> None:
        """Gradients that are not finite are used, unless a scaler keeps them from it: the weights are still as they
        were. Those that the program clears, or leaves unused, never come here."""
        chapter = self._chapter
        if chapter is None:
            return
        chapter.ignore(self._spoiled_step_began)
        with chapter.session.signals.guard.looking():
            if "found_inf" in attributes(call.optimizer) or not _holds_spoiled(call.optimizer):
                return
        self._judge_soon(chapter)

    def _spoiled(self, chapter: Chapter) -> None:
        """A loss is not finite, and nothing tells why: the next chapter shows what is left, whatever that costs. Where
        it shows the same, no more is to be learned."""
        self._must_follow = chapter.number > self._spoiled_in + 1
        self._spoiled_in = chapter.number
        if chapter.settled:
            (self._turn_soon if self._must_follow else self._news)()

    def _judge_now(self) -> None:
        self._urgent = False
        chapter = self._chapter
        if chapter is None:
            return
        try:
            stop = self._judges.judged(chapter, "urgent")
        except Exception as failure:
            self._give_up(chapter, failure)
            return
        if stop is not None:
            raise stop


def _holds_spoiled(optimizer: Optimizer) -> bool:
    """Whether a gradient of its parameters is not finite."""
    gradients = (gradient_of(parameter) for parameter in parameters_of(optimizer))
    return any(is_checkable(gradient) and is_spoiled(gradient) for gradient in gradients if gradient is not None)
