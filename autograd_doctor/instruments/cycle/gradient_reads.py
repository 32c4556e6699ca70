"""Whether the program itself makes something of gradients, before any step has used one."""

from __future__ import annotations

from typing import ClassVar

import torch

from autograd_doctor.events.cycle import GradientsRead
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.reading.subclasses import storage_address
from autograd_doctor.signals import Signals
from autograd_doctor.signals.collectives import Collective


class GradientReads(Instrument):
    """Counts the backwards behind which the program got hold of a gradient, or gave parameters to a collective, until
    the first step.

    It tells of them whenever either number has doubled.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (GradientsRead,)

    def __init__(self, site: Site, course: Course, parameters: Parameters) -> None:
        super().__init__(site)
        self._course = course
        self._parameters = parameters
        self._backwards = self._read_behind = self._exchanged_behind = 0
        self._is_read = self._is_exchanged = True

    def connect(self, signals: Signals) -> None:
        self.listen(self._course.backward_over, self._backward_over)
        self.listen(self._course.step_taken, self._step_taken)
        self.listen(signals.gradient_reads.read, self._read, bare=True)
        self.listen(signals.collectives.begins, self._collective_begins)

    def _backward_over(self, course: Course) -> None:
        self._backwards += 1
        self._is_read = self._is_exchanged = False

    def _read(self, tensor: torch.Tensor) -> None:
        if self._is_read:
            return
        self._is_read = True
        self._read_behind += 1
        self._tell(self._read_behind)

    def _collective_begins(self, collective: Collective) -> None:
        if self._is_exchanged:
            return
        given = {storage_address(tensor) for tensor in collective.given} - {0}
        if any(storage_address(parameter) in given for _, parameter in self._parameters.living()):
            self._is_exchanged = True
            self._exchanged_behind += 1
            self._tell(self._exchanged_behind)

    def _tell(self, count: int) -> None:
        if count & (count - 1) == 0:
            self.emit(
                GradientsRead(
                    step=self._course.steps,
                    read=self._read_behind,
                    backwards=self._backwards,
                    exchanged=self._exchanged_behind,
                )
            )

    def _step_taken(self, course: Course) -> None:
        self.detach()
