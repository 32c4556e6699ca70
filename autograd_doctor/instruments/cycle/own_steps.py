"""Optimizers of the program's own that step without a look at gradients, as those of proximal methods."""

from __future__ import annotations

from typing import ClassVar

import torch

from autograd_doctor.events.cycle import GradientsIgnored
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.optimizers import Optimizers
from autograd_doctor.reading.custom_functions import own_method
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.optimizers import StepCall

_LOOKS = 2
"""Steps of each optimizer in which it is heard whether `.grad` is read."""


class OwnSteps(Instrument):
    """Listens to reads of `.grad` while such a step runs."""

    emits: ClassVar[tuple[type[Event], ...]] = (GradientsIgnored,)

    def __init__(self, site: Site, course: Course, optimizers: Optimizers) -> None:
        super().__init__(site)
        self._signals = site.signals
        self._course = course
        self._optimizers = optimizers
        self._looks: dict[int, int] = {}
        self._running: int | None = None
        self._read = False

    def connect(self, signals: Signals) -> None:
        self.listen(signals.steps.began, self._began, last=True, attention=Attention.FULL)
        self.listen(signals.steps.ended, self._ended)

    def _began(self, call: StepCall) -> None:
        number = self._optimizers.known(call.optimizer)
        is_own = own_method(type(call.optimizer), "step") is not None
        if is_own and self._looks.get(number, 0) < _LOOKS:
            self._looks[number] = self._looks.get(number, 0) + 1
            self._running, self._read = number, False
            self.listen(self._signals.gradient_reads.read, self._was_read, bare=True)

    def _was_read(self, tensor: torch.Tensor) -> None:
        self._read = True

    def _ended(self, call: StepCall) -> None:
        number = self._optimizers.known(call.optimizer)
        if number != self._running:
            return
        self._running = None
        self.unlisten(self._signals.gradient_reads.read, self._was_read)
        if self._read:
            self._looks[number] = _LOOKS
        elif self._looks[number] == _LOOKS:
            self.emit(GradientsIgnored(step=self._course.steps, optimizer=number))
