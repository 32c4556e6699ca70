"""Optimizers prepared by Accelerate whose every step comes where `accumulate()` skips it."""

from __future__ import annotations

from collections import Counter
from typing import Any, ClassVar

from torch.optim import Optimizer

from autograd_doctor.events.cycle import StepsSkipped
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.optimizers import Optimizers
from autograd_doctor.reading.places import Place, locate, place
from autograd_doctor.reading.variable_names import variable_name
from autograd_doctor.reading.without_running import attributes, is_a
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.signals.wrapped_steps import WrappedStep

_TOLD = 3
"""Of the backwards: they show the rhythm."""


class SkippedSteps(Instrument):
    """Counts backwards, and notes behind which of them a step was asked for, and would have been taken."""

    emits: ClassVar[tuple[type[Event], ...]] = (StepsSkipped,)

    def __init__(self, site: Site, course: Course, optimizers: Optimizers) -> None:
        super().__init__(site)
        self._course = course
        self._optimizers = optimizers
        self._backwards = 0
        self._state: dict[str, Any] = {}
        self._skipped: Counter[int] = Counter()
        self._passed_on: set[int] = set()
        self._names: dict[int, str] = {}
        self._places: dict[int, Place | None] = {}
        self._asked_in: dict[int, list[int]] = {}
        self._due_in: list[int] = []

    def connect(self, signals: Signals) -> None:
        self.listen(signals.wrapped_steps.asked, self._asked)
        self.listen(signals.backward.ended, self._backward_ended, attention=Attention.LIGHT)

    def finish(self) -> None:
        for number, times in self._skipped.items():
            if number not in self._passed_on:
                self.emit(
                    StepsSkipped(
                        step=self._course.steps,
                        optimizer=number,
                        name=self._names[number],
                        location=locate(self._places[number]),
                        times=times,
                        asked_in=self._asked_in[number],
                        due_in=self._due_in,
                    )
                )

    def _backward_ended(self, call: BackwardCall) -> None:
        self._backwards += 1
        if self._state.get("sync_gradients") is True and len(self._due_in) < _TOLD:
            self._due_in.append(self._backwards)

    def _asked(self, call: WrappedStep) -> None:
        kept = attributes(call.wrapper)
        inner: Any = kept.get("optimizer")
        state = attributes(kept.get("gradient_state"))
        if not is_a(inner, Optimizer) or type(state.get("sync_gradients")) is not bool:
            return
        self._state = state
        number = self._optimizers.known(inner)
        if state["sync_gradients"]:
            self._passed_on.add(number)
            return
        self._skipped[number] += 1
        if number not in self._places:
            self._places[number] = place()
            self._names[number] = variable_name(call.wrapper)
        asked = self._asked_in.setdefault(number, [])
        if len(asked) < _TOLD and self._backwards not in asked:
            asked.append(self._backwards)
