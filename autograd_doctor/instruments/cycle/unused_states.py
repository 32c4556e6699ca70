"""States that were loaded into an optimizer which has not stepped, while one without a state takes its first step."""

from __future__ import annotations

from typing import ClassVar

from autograd_doctor.events.cycle import StateUnused
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.optimizers import Optimizers
from autograd_doctor.reading.places import Place, locate, place
from autograd_doctor.signals import Signals
from autograd_doctor.signals.loads import OptimizerLoad
from autograd_doctor.signals.optimizers import StepCall


class UnusedStates(Instrument):
    """Waits, from the first state that is loaded, for optimizers that begin without one."""

    emits: ClassVar[tuple[type[Event], ...]] = (StateUnused,)

    def __init__(self, site: Site, course: Course, optimizers: Optimizers) -> None:
        super().__init__(site)
        self._course = course
        self._optimizers = optimizers
        self._loaded: dict[int, Place | None] = {}
        """Optimizers that hold a state which was loaded, and that have not stepped since."""
        self._begun: set[int] = set()

    def connect(self, signals: Signals) -> None:
        self.listen(signals.loads.restored, self._restored)

    def _restored(self, load: OptimizerLoad) -> None:
        if any(load.optimizer.state.values()):
            self._loaded[self._optimizers.number(load.optimizer)] = place()
            self.listen(self._site.signals.steps.began, self._step_began)

    def _step_began(self, call: StepCall) -> None:
        number = self._optimizers.known(call.optimizer)
        self._loaded.pop(number, None)
        if number in self._begun:
            return
        self._begun.add(number)
        if not any(call.optimizer.state.values()):
            for loaded, where in self._loaded.items():
                self.emit(
                    StateUnused(step=self._course.steps, optimizer=number, loaded=loaded, loaded_at=locate(where))
                )
