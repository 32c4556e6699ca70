"""What memory the program holds from step to step."""

from __future__ import annotations

from typing import ClassVar

from autograd_doctor.events.event import Event
from autograd_doctor.events.steps import MemoryMeasured
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.reading.looks import is_drawn
from autograd_doctor.reading.memory import resident_bytes
from autograd_doctor.reading.torch_versions import allocated_bytes
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention


class Memory(Instrument):
    """Asks the system, and the allocator of the accelerator, when a step is over."""

    emits: ClassVar[tuple[type[Event], ...]] = (MemoryMeasured,)

    def __init__(self, site: Site, course: Course) -> None:
        super().__init__(site)
        self._course = course
        self._asked = 0

    def connect(self, signals: Signals) -> None:
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.LIGHT)

    def _step_taken(self, course: Course) -> None:
        before, self._asked = self._asked, course.steps
        if not is_drawn(course.steps, before):
            return
        resident = resident_bytes()
        if resident is not None:
            self.emit(MemoryMeasured(step=course.steps, resident=resident, allocated=allocated_bytes()))
