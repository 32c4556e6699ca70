"""What instruments have in common that follow what operations make of one another within a step."""

from __future__ import annotations

from abc import ABC, abstractmethod

from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention


class WithinStep(Instrument, ABC):
    """Begins anew with each step that is looked at closely: what operations of other steps made is not known."""

    def __init__(self, site: Site, course: Course, detail: Detail) -> None:
        super().__init__(site)
        self._course = course
        self._detail = detail
        self._forget()

    def connect(self, signals: Signals) -> None:
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.CLOSE)
        self.listen(self._detail.focused, self._focused)

    @abstractmethod
    def _forget(self) -> None:
        """Begin with empty tables."""

    def _step_taken(self, course: Course) -> None:
        self._forget()

    def _focused(self, detail: Detail) -> None:
        self._forget()
