"""Work that the program captures in a graph of an accelerator, to replay it without Python."""

from __future__ import annotations

from typing import ClassVar

from autograd_doctor.events.event import Event
from autograd_doctor.events.run import Noted
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.late_values import LateValues
from autograd_doctor.signals import Signals


class Captured(Instrument):
    """Has all that others wait for come home before a capture begins, and says that what is replayed is not seen."""

    emits: ClassVar[tuple[type[Event], ...]] = (Noted,)

    def __init__(self, site: Site, course: Course, late_values: LateValues) -> None:
        super().__init__(site)
        self._course = course
        self._late_values = late_values
        self._said = False

    def connect(self, signals: Signals) -> None:
        self.listen(signals.captures.began, self._began)

    def _began(self, graph: object) -> None:
        self._late_values.answer_all()
        if not self._said:
            self._said = True
            text = "the program captures work in a graph of the accelerator: what that replays is not seen"
            self.emit(Noted(step=self._course.steps, text=text))
