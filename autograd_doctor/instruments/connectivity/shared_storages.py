"""Parameters whose values lie within others that an optimizer holds, as slices of one vector: its steps move them."""

from __future__ import annotations

from collections import defaultdict
from typing import ClassVar

from autograd_doctor.events.event import Event
from autograd_doctor.events.subjects import ValuesShared
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.optimizers import Optimizers
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.reading.optimizer_groups import parameters_of
from autograd_doctor.reading.regions import Region, region_of
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.optimizers import StepCall

_LOOKS = 2
"""Steps of each optimizer: weights are laid together before training."""


class SharedStorages(Instrument):
    """Looks at first steps."""

    emits: ClassVar[tuple[type[Event], ...]] = (ValuesShared,)

    def __init__(self, site: Site, course: Course, parameters: Parameters, optimizers: Optimizers) -> None:
        super().__init__(site)
        self._course = course
        self._parameters = parameters
        self._optimizers = optimizers
        self._looks: defaultdict[int, int] = defaultdict(int)
        self._said: set[int] = set()

    def connect(self, signals: Signals) -> None:
        self.listen(signals.steps.began, self._began, attention=Attention.FULL)

    def _began(self, call: StepCall) -> None:
        number = self._optimizers.known(call.optimizer)
        self._looks[number] += 1
        if self._looks[number] > _LOOKS:
            return
        stepped = [region for each in parameters_of(call.optimizer) if (region := region_of(each)) is not None]
        by_storage: defaultdict[int, list[Region]] = defaultdict(list)
        for region in stepped:
            by_storage[region.storage].append(region)
        for parameter, leaf in self._parameters.living():
            lies = region_of(leaf) if not self._optimizers.holds(parameter) and parameter not in self._said else None
            if lies is not None and any(lies.overlaps(region) for region in by_storage.get(lies.storage, ())):
                self._said.add(parameter)
                self.emit(ValuesShared(step=self._course.steps, parameter=parameter, optimizer=number))
