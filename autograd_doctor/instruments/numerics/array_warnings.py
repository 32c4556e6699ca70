"""What NumPy warned of while the program computed its data: values that are not finite, at the lines that made them."""

from __future__ import annotations

from typing import ClassVar

from autograd_doctor.events.event import Event
from autograd_doctor.events.numerics import ArrayWarned
from autograd_doctor.findings import Location
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.reading.places import here
from autograd_doctor.signals import Signals
from autograd_doctor.signals.warned import Warned

_SPOILING = ("invalid value encountered in", "divide by zero encountered in", "overflow encountered in")
_MOST = 20


class ArrayWarnings(Instrument):
    """Notes each line once."""

    emits: ClassVar[tuple[type[Event], ...]] = (ArrayWarned,)

    def __init__(self, site: Site, course: Course) -> None:
        super().__init__(site)
        self._course = course
        self._lines: set[Location] = set()

    def connect(self, signals: Signals) -> None:
        self.listen(signals.warned.shown, self._shown)

    def _shown(self, warned: Warned) -> None:
        if not (issubclass(warned.category, RuntimeWarning) and warned.text.startswith(_SPOILING)):
            return
        location = here()
        if location is not None and location not in self._lines and len(self._lines) < _MOST:
            self._lines.add(location)
            self.emit(ArrayWarned(step=self._course.steps, text=warned.text, location=location))
