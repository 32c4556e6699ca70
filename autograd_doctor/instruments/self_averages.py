"""Averages and copies of weights that were meant to be apart and share their storage: each update meets itself."""

from __future__ import annotations

from typing import ClassVar

import torch

from autograd_doctor.events import Event, WeightsMetThemselves
from autograd_doctor.instruments.course import Course
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.lineage import Lineage
from autograd_doctor.instruments.parameters import Parameters
from autograd_doctor.instruments.tensors import Tensors
from autograd_doctor.reading.made import next_order
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.regions import region_of
from autograd_doctor.reading.tensors_in import tensors_in
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.operations import Operation

_UPDATES = frozenset({"add_", "copy_", "lerp_"})


class SelfAverages(Instrument):
    """An alias that is older than the last step was kept to be another tensor; one made just now is a way to write.

    The lineage knows of which parameter a tensor is an alias.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (WeightsMetThemselves,)

    def __init__(self, site: Site, course: Course, parameters: Parameters, tensors: Tensors, lineage: Lineage) -> None:
        super().__init__(site)
        self._course = course
        self._parameters = parameters
        self._tensors = tensors
        self._since = next_order()
        self._met: dict[Place | None, tuple[list[int], Place | None]] = {}

    def connect(self, signals: Signals) -> None:
        self.listen(signals.operations.ended, self._operation_ended, attention=Attention.FULL, names=_UPDATES)
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.FULL)

    def _operation_ended(self, operation: Operation) -> None:
        target = operation.args[0] if operation.args else None
        if self._course.running is not None or not isinstance(target, torch.Tensor):
            return
        made = self._tensors.get(target)
        if made is None or made.alias_of is None or made.born > self._since or self._parameters.get(target) is not None:
            return
        region, others = region_of(target), tensors_in((*operation.args[1:], *operation.kwargs.values()))
        if region is not None and any(region_of(other) == region for other in others):
            self._met.setdefault(operation.place, ([], made.created_at))[0].append(made.alias_of)

    def _step_taken(self, course: Course) -> None:
        self.finish()
        self._since = next_order()

    def finish(self) -> None:
        """State the updates since the last step."""
        for place, (parameters, made_at) in self._met.items():
            self.emit(
                WeightsMetThemselves(
                    step=self._course.steps,
                    parameters=sorted(set(parameters)),
                    kept_at=locate(made_at),
                    location=locate(place),
                )
            )
        self._met.clear()
