"""What tells whether two runs of a program compute the same weights, to the last bit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from autograd_doctor.events.event import Event
from autograd_doctor.events.steps import WeightsFingerprinted
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.late_values import LateValues
from autograd_doctor.instruments.spine.optimizers import Optimizers
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.reading.looks import is_drawn
from autograd_doctor.reading.tensor_facts import fingerprints_to_come
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention


class WeightFingerprints(Instrument):
    """Takes a fingerprint of each parameter that an optimizer holds, after some steps. Its number does not matter."""

    emits: ClassVar[tuple[type[Event], ...]] = (WeightsFingerprinted,)

    def __init__(
        self, site: Site, course: Course, late_values: LateValues, parameters: Parameters, optimizers: Optimizers
    ) -> None:
        super().__init__(site)
        self._course = course
        self._late_values = late_values
        self._parameters = parameters
        self._optimizers = optimizers
        self._asked = 0

    def connect(self, signals: Signals) -> None:
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.LIGHT)

    def _step_taken(self, course: Course) -> None:
        before, self._asked = self._asked, course.steps
        if not is_drawn(course.steps, before):
            return
        held = [parameter for number, parameter in self._parameters.living() if self._optimizers.holds(number)]
        coming, step = fingerprints_to_come(held), course.steps

        def tell(values: Sequence[int]) -> None:
            found = sorted(value for value in coming.put_together(values) if value is not None)
            self.emit(WeightsFingerprinted(step=step, fingerprints=found))

        self._late_values.ask(self, coming.parts, tell)
