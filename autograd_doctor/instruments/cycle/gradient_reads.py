"""Whether the program itself makes something of gradients, before any step has used one."""

from __future__ import annotations

from typing import ClassVar

import torch

from autograd_doctor.events.cycle import GradientsRead
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.signals import Signals


class GradientReads(Instrument):
    """Counts the backwards behind which the program got hold of a gradient, until the first step.

    It tells of them whenever they have doubled.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (GradientsRead,)

    def __init__(self, site: Site, course: Course) -> None:
        super().__init__(site)
        self._course = course
        self._backwards = self._read_behind = 0
        self._is_read = True

    def connect(self, signals: Signals) -> None:
        self.listen(self._course.backward_over, self._backward_over)
        self.listen(self._course.step_taken, self._step_taken)
        self.listen(signals.gradient_reads.read, self._read, bare=True)

    def _backward_over(self, course: Course) -> None:
        self._backwards += 1
        self._is_read = False

    def _read(self, tensor: torch.Tensor) -> None:
        if self._is_read:
            return
        self._is_read = True
        self._read_behind += 1
        if self._read_behind & (self._read_behind - 1) == 0:
            self.emit(GradientsRead(step=self._course.steps, read=self._read_behind, backwards=self._backwards))

    def _step_taken(self, course: Course) -> None:
        self.detach()
