"""Sums with weights that came out of a softmax over another dimension than the one that is summed up.

They are taken by products of matrices, and, of logarithms, by `logsumexp`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import torch

from autograd_doctor.events.event import Event
from autograd_doctor.events.losses import WeightsApart
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.losses.shapings import Shapings
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.lineage import Lineage
from autograd_doctor.operations import ADDING, SOFTMAXES
from autograd_doctor.reading.numbers import ValueTable
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.products import PRODUCTS_OF_MATRICES, side_by_side
from autograd_doctor.reading.provenance import has_graph
from autograd_doctor.reading.shaping import Shaped
from autograd_doctor.reading.tensors_in import tensors_in
from autograd_doctor.signals import Signals
from autograd_doctor.signals.operations import Operation

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
        self._weighted: ValueTable[Shaped] = self.value_table()

    def connect(self, signals: Signals) -> None:
        names = PRODUCTS_OF_MATRICES | ADDING | {"logsumexp"}
        self.listen(self._lineage.operated, self._operated, names=names)

    def _operated(self, operation: Operation) -> None:
        result = operation.result
        if not isinstance(result, torch.Tensor) or not has_graph(result):
            return
        if operation.name in PRODUCTS_OF_MATRICES:
            self._multiplied(operation)
        elif operation.name == "logsumexp":
            self._summed(operation)
        else:
            self._added(operation, result)

    def _added(self, operation: Operation, result: torch.Tensor) -> None:
        """The logarithms of weights, each with that of a value; what both were shared out belongs to two sums."""
        given = tensors_in(operation.args)
        logarithms = [shaped for each in given if (shaped := _logarithms(self._shapings.of(each))) is not None]
        shapes = {result.shape, *(each.shape for each in given), *(torch.Size(each.shape) for each in logarithms)}
        if len(given) == 2 and len(logarithms) == len(shapes) == 1:
            self._weighted.put(result, logarithms[0])

    def _summed(self, operation: Operation) -> None:
        values, dim = (*operation.args, None, None)[:2]
        dim = operation.kwargs.get("dim", dim)
        softmax = self._weighted.get(values) if isinstance(values, torch.Tensor) else None
        if softmax is None or dim is None or softmax.dim is None:
            return
        over = [each % values.dim() for each in (dim if isinstance(dim, list | tuple) else [dim])]
        if softmax.dim not in over and all(values.shape[each] > 1 for each in (softmax.dim, *over)):
            self._tell(operation, softmax, over)

    def _multiplied(self, operation: Operation) -> None:
        for factor, dims in side_by_side(operation.name, operation.args):
            softmax = self._shapings.of(factor)
            if softmax is None or softmax.operation not in SOFTMAXES or softmax.shape != tuple(factor.shape):
                continue
            if softmax.dim in dims and factor.shape[softmax.dim] > 1:
                self._tell(operation, softmax)

    def _tell(self, operation: Operation, softmax: Shaped, over: Sequence[int] = ()) -> None:
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
                over=list(over),
            )
        )


def _logarithms(shaped: Shaped | None) -> Shaped | None:
    """The softmax of whose result a tensor holds the logarithms."""
    if shaped is not None and shaped.operation == "log":
        shaped = shaped.behind
        return shaped if shaped is not None and shaped.operation in SOFTMAXES else None
    return shaped if shaped is not None and shaped.operation == "log_softmax" else None
