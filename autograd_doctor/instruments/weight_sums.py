"""Products of matrices one factor of which came out of a softmax over a dimension that they go through side by side."""

from __future__ import annotations

from typing import ClassVar

import torch

from autograd_doctor.events import Event, WeightsApart
from autograd_doctor.instruments.course import Course
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.lineage import Lineage
from autograd_doctor.instruments.shapings import Shapings
from autograd_doctor.reading.made import has_graph
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.products import PRODUCTS_OF_MATRICES, side_by_side
from autograd_doctor.reading.shaping import Shaped
from autograd_doctor.signals import Signals
from autograd_doctor.signals.operations import Operation

_SOFTMAXES = frozenset({"softmax", "gumbel_softmax", "softmin"})
_MOST_STEPS = 2
_MOST_PLACES = 16


class WeightSums(Instrument):
    """States them in two steps for each line."""

    emits: ClassVar[tuple[type[Event], ...]] = (WeightsApart,)

    def __init__(self, site: Site, course: Course, lineage: Lineage, shapings: Shapings) -> None:
        super().__init__(site)
        self._course = course
        self._lineage = lineage
        self._shapings = shapings
        self._told: dict[Place | None, set[int]] = {}

    def connect(self, signals: Signals) -> None:
        self.listen(self._lineage.operated, self._operated, names=PRODUCTS_OF_MATRICES)

    def _operated(self, operation: Operation) -> None:
        result = operation.result
        if not isinstance(result, torch.Tensor) or not has_graph(result):
            return
        for factor, dims in side_by_side(operation.name, operation.args):
            softmax = self._shapings.of(factor)
            if softmax is None or softmax.operation not in _SOFTMAXES or softmax.shape != tuple(factor.shape):
                continue
            if softmax.dim in dims and factor.shape[softmax.dim] > 1:
                self._tell(operation, softmax)

    def _tell(self, operation: Operation, softmax: Shaped) -> None:
        steps = self._told.get(softmax.place, set())
        if self._course.steps in steps or len(steps) >= _MOST_STEPS or len(self._told) >= _MOST_PLACES:
            return
        self._told.setdefault(softmax.place, set()).add(self._course.steps)
        self.emit(
            WeightsApart(
                step=self._course.steps,
                softmax=softmax.event(),
                operation=operation.name,
                location=locate(operation.place),
            )
        )
