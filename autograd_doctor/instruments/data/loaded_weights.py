"""Which parameters have their values from a state that was loaded."""

from __future__ import annotations

from typing import ClassVar

from autograd_doctor.events.data import WeightsLoaded
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.reading.module_tree import parameters_in
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.signals import Signals
from autograd_doctor.signals.states import StateLoad


class LoadedWeights(Instrument):
    """Tells of them after the next step, when those that are trained have their numbers."""

    emits: ClassVar[tuple[type[Event], ...]] = (WeightsLoaded,)

    def __init__(self, site: Site, course: Course, parameters: Parameters) -> None:
        super().__init__(site)
        self._course = course
        self._parameters = parameters
        self._loaded: IdentityTable[int] = IdentityTable()

    def connect(self, signals: Signals) -> None:
        self.listen(signals.states.loaded, self._state_loaded)

    def finish(self) -> None:
        self._tell(self._course)

    def _state_loaded(self, load: StateLoad) -> None:
        missing = set(load.missing or ())
        for path, parameter in parameters_in(load.module):
            if path not in missing:
                self._loaded.put(parameter, self._course.steps)
        self.listen(self._course.step_taken, self._tell)

    def _tell(self, course: Course) -> None:
        by_step: dict[int, list[int]] = {}
        for parameter, step in self._loaded.items():
            number = self._parameters.get(parameter)
            if number is not None:
                by_step.setdefault(step, []).append(number)
        for step, numbers in by_step.items():
            self.emit(WeightsLoaded(step=step, parameters=sorted(numbers)))
        self._loaded = IdentityTable()
        self.unlisten(course.step_taken, self._tell)
