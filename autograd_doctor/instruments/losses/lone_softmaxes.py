"""Softmaxes over a dimension of size one, by line."""

from __future__ import annotations

from typing import ClassVar

import torch

from autograd_doctor.events.event import Event
from autograd_doctor.events.losses import SoftmaxOfOne
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.lineage import Lineage
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.shaping import softmax_dim
from autograd_doctor.signals import Signals
from autograd_doctor.signals.operations import Operation

_SOFTMAXES = frozenset({"softmax", "log_softmax"})
_MOST_LINES = 100


class LoneSoftmaxes(Instrument):
    """Tells of a line once it ran over one element, and once more when it ran over several."""

    emits: ClassVar[tuple[type[Event], ...]] = (SoftmaxOfOne,)

    def __init__(self, site: Site, course: Course, lineage: Lineage) -> None:
        super().__init__(site)
        self._course = course
        self._lineage = lineage
        self._is_one: dict[Place | None, bool] = {}

    def connect(self, signals: Signals) -> None:
        self.listen(self._lineage.operated, self._operated, names=_SOFTMAXES)

    def _operated(self, operation: Operation) -> None:
        result = operation.result
        if not isinstance(result, torch.Tensor) or not result.requires_grad:
            return
        dim = softmax_dim(operation.args, operation.kwargs, result)
        is_one = result.dim() > 0 and result.shape[dim] == 1
        known = self._is_one.get(operation.place)
        if known is None and len(self._is_one) >= _MOST_LINES:
            return
        self._is_one[operation.place] = is_one and known is not False
        if is_one if known is None else known and not is_one:
            self.emit(
                SoftmaxOfOne(
                    step=self._course.steps,
                    location=locate(operation.place),
                    operation=operation.name,
                    shape=list(result.shape),
                    dim=dim,
                    varies=not is_one,
                )
            )
