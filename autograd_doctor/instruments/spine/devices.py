"""The devices that the program trains on."""

from __future__ import annotations

from typing import ClassVar

from autograd_doctor.events.event import Event
from autograd_doctor.events.subjects import DevicesUsed
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.reading.looks import is_drawn
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall


class Devices(Instrument):
    """Asks the parameters where they are: at the first backward, and at steps ever more rarely, for they may move."""

    emits: ClassVar[tuple[type[Event], ...]] = (DevicesUsed,)

    def __init__(self, site: Site, course: Course, parameters: Parameters) -> None:
        super().__init__(site)
        self._course = course
        self._parameters = parameters
        self._asked = 0
        self._told: list[str] = []

    def connect(self, signals: Signals) -> None:
        self.listen(signals.backward.began, self._backward_began, attention=Attention.FULL)
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.LIGHT)

    def _backward_began(self, call: BackwardCall) -> None:
        if not self._told:
            self._ask()

    def _step_taken(self, course: Course) -> None:
        before, self._asked = self._asked, course.steps
        if is_drawn(course.steps, before):
            self._ask()

    def _ask(self) -> None:
        kinds = sorted({parameter.device.type for _, parameter in self._parameters.living()})
        if kinds and kinds != self._told:
            self._told = kinds
            self.emit(DevicesUsed(step=self._course.steps, kinds=kinds))
