"""What `DistributedDataParallel` averages the gradients of, as it was when the model was wrapped."""

from __future__ import annotations

from typing import ClassVar

from autograd_doctor.events.event import Event
from autograd_doctor.events.replicas import ModelWrapped
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.reading.places import here
from autograd_doctor.reading.without_running import attributes
from autograd_doctor.signals import Signals
from autograd_doctor.signals.wrapping import Wrapped


class WrappedModels(Instrument):
    """Numbers the parameters at that time: those that are frozen later still count where torch counts them."""

    emits: ClassVar[tuple[type[Event], ...]] = (ModelWrapped,)

    def __init__(self, site: Site, course: Course, parameters: Parameters) -> None:
        super().__init__(site)
        self._course = course
        self._parameters = parameters

    def connect(self, signals: Signals) -> None:
        self.listen(signals.wrapping.wrapped, self._wrapped)

    def _wrapped(self, wrapped: Wrapped) -> None:
        self.emit(
            ModelWrapped(
                step=self._course.steps,
                location=here(),
                reduced=[self._parameters.number(parameter) for parameter in wrapped.reduced],
                finds_unused=bool(attributes(wrapped.wrapper).get("find_unused_parameters")),
            )
        )
