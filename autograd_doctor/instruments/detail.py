"""Which steps are recorded operation by operation: the first of each phase, samples of the others, what is new."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import ClassVar, Literal

from torch.optim import Optimizer

from autograd_doctor.events import DetailTurned, Event, MoreDetailNeeded
from autograd_doctor.instruments.course import Course
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.optimizers import Optimizers
from autograd_doctor.reading.places import place
from autograd_doctor.signals import Signals
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.signals.optimizers import StepCall

FIRST_STEPS = 10
"""Steps of each phase in full. Three censuses of survivors fall into them, and growth needs three points to show."""
SAMPLED_EVERY = 25
"""Later steps in full: one in so many, so that what was concluded from the first ones is looked at again."""
_MOST_IN_A_STEP = 64
"""Passes of one phase in one step (micro-batches, an evaluation) in full: the later ones repeat them."""
_ALWAYS_GRANTED = 100
_SHARE = 0.2
"""Programs that build new models and optimizers all the time get as many full steps, and this share of the later ones:
beyond, every step would be one of something new."""


@dataclass
class _Phase:
    """A kind of work at a place of the program, by the steps in which it was met."""

    steps: int = 0
    step: int = -1
    times: int = 0


class Detail(Instrument):
    """Lets operations rest in light steps: `full` tells the others how closely to look.

    A phase is what somebody calls one: a forward of a module under its conditions, a backward at its line, the steps
    of an optimizer. `full_from`: the steps from this one on are full, too, and so is the step before it. Where the
    program updates parameters by hand, only its operations tell of its steps, and all are full.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (DetailTurned, MoreDetailNeeded)

    def __init__(self, site: Site, course: Course, optimizers: Optimizers) -> None:
        super().__init__(site)
        self.full = True
        self.full_from: int | None = None
        self.full_steps = 0
        self._course = course
        self._optimizers = optimizers
        self._operations = site.signals.operations
        self._phases: dict[Hashable, _Phase] = {}
        self._fresh = False
        self._asked = False
        self._missed = False
        self._has_optimizer = False

    def connect(self, signals: Signals) -> None:
        self.listen(signals.optimizers.built, self._optimizer_built)
        self.listen(signals.backward.began, self._backward_began)
        self.listen(signals.steps.began, self._step_began)
        self.listen(self._course.step_taken, self._step_taken)

    def _optimizer_built(self, optimizer: Optimizer) -> None:
        self._has_optimizer = True

    def _backward_began(self, call: BackwardCall) -> None:
        self.met(("backward", call.kind, place()))

    def _step_began(self, call: StepCall) -> None:
        self.met(("step", self._optimizers.known(call.optimizer)))

    def met(self, phase: Hashable) -> None:
        """The program is about to do work of a phase: one that is new makes the present step a full one."""
        known = self._phases.setdefault(phase, _Phase())
        if known.step != self._course.steps:
            known.step, known.times = self._course.steps, 0
            known.steps += 1
        known.times += 1
        fresh = known.steps <= FIRST_STEPS
        self._fresh |= fresh and known.steps < FIRST_STEPS
        if known.times > _MOST_IN_A_STEP:
            self._turn(full=self._is_wanted)
        elif fresh and self._may_be_granted:
            self._turn(full=True)

    def ask(self) -> None:
        """Something is not as it was before: the next step should be a full one."""
        self._asked = True

    def missed(self, what: Literal["non-finite loss", "non-finite gradient"]) -> None:
        """Something has come up whose cause only the operations tell: state it if they are not recorded."""
        if not self.full and not self._missed:
            self._missed = True
            self.emit(MoreDetailNeeded(step=self._course.steps, what=what))

    def _step_taken(self, course: Course) -> None:
        self.full_steps += self.full
        new = (self._fresh or self._asked) and self._may_be_granted
        self._fresh = self._asked = False
        self._turn(full=new or self._is_wanted or course.steps % SAMPLED_EVERY == 0)

    @property
    def _is_wanted(self) -> bool:
        """Whether the present step must be full, however often the like of it was seen."""
        again = self.full_from is not None and self._course.steps >= self.full_from - 1
        return again or self._course.by_hand or not self._has_optimizer

    @property
    def _may_be_granted(self) -> bool:
        return self.full_steps < _ALWAYS_GRANTED + _SHARE * self._course.steps

    def _turn(self, *, full: bool) -> None:
        if full != self.full:
            self.full = full
            self.emit(DetailTurned(step=self._course.steps, full=full))
        if full:
            self._operations.resume()
        else:
            self._operations.rest()
