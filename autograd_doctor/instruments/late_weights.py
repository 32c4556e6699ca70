"""Weights that meet a loss after it was reduced to one number: they scale all of it alike.

The number is that of a loss function of torch, also after a change of its sign or size. Weights are data of as many
values as it was computed from, or as there were samples, that are not all the same.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple
from weakref import WeakKeyDictionary

import torch

from autograd_doctor.events import Event, TensorFacts, WeightedTooLate
from autograd_doctor.instruments.course import Course
from autograd_doctor.instruments.detail import Detail
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.ledger import Ledger
from autograd_doctor.instruments.lineage import Lineage
from autograd_doctor.instruments.tensors import Tensors
from autograd_doctor.reading.looks import Looks
from autograd_doctor.reading.loss_arguments import operands_of
from autograd_doctor.reading.losses import COMPARING
from autograd_doctor.reading.made import Made, has_graph
from autograd_doctor.reading.numbers import ValueTable
from autograd_doctor.reading.pairs import SCALING
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.signs import NEGATIONS
from autograd_doctor.reading.tensor_facts import readable
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.signals.operations import Operation

_LOSSES = COMPARING | {"soft_margin_loss"}


class _Reduced(NamedTuple):
    """A loss that is one number: what made it, and of how many values and samples."""

    operation: str
    place: Place | None
    values: int
    samples: int


class _Product(NamedTuple):
    reduced: _Reduced
    place: Place | None
    weights: TensorFacts


class LateWeights(Instrument):
    """Tells, when a backward begins, of the products behind it."""

    emits: ClassVar[tuple[type[Event], ...]] = (WeightedTooLate,)

    def __init__(
        self, site: Site, course: Course, detail: Detail, tensors: Tensors, ledger: Ledger, lineage: Lineage
    ) -> None:
        super().__init__(site)
        self._course = course
        self._detail = detail
        self._tensors = tensors
        self._ledger = ledger
        self._lineage = lineage
        self._reduced: ValueTable[_Reduced] = self.value_table()
        self._products: WeakKeyDictionary[Made, _Product] = WeakKeyDictionary()
        self._looks: Looks[Place | None] = Looks()

    def connect(self, signals: Signals) -> None:
        self.listen(self._lineage.operated, self._operation_ended, names=_LOSSES | SCALING | NEGATIONS)
        self.listen(signals.backward.began, self._backward_began, attention=Attention.CLOSE)
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.CLOSE)
        self.listen(self._detail.focused, self._turned)

    def _turned(self, detail: Detail) -> None:
        """What operations of other steps made is not known."""
        self._reduced.clear()

    def _step_taken(self, course: Course) -> None:
        self._looks.step_taken()

    # ---------------------------------------------------------------------------------------------------- operations

    def _operation_ended(self, operation: Operation) -> None:
        result = operation.result
        if not isinstance(result, torch.Tensor) or not has_graph(result):
            return
        if operation.name in _LOSSES:
            self._function_called(operation, result)
        elif self._reduced:
            self._scaled(operation, result)

    def _function_called(self, operation: Operation, result: torch.Tensor) -> None:
        operands = operands_of(operation.args, operation.kwargs)
        if operands is None or result.dim() or not operands[0].dim():
            return
        prediction, target = operands
        values = target.numel() if not target.is_floating_point() else prediction.numel()
        self._reduced.put(result, _Reduced(operation.name, operation.place, values, prediction.shape[0]))

    def _scaled(self, operation: Operation, result: torch.Tensor) -> None:
        values = [value for value in operation.args if isinstance(value, torch.Tensor)]
        known = [reduced for value in values if (reduced := self._reduced.get(value)) is not None]
        others = [value for value in values if value not in self._reduced]
        if len(known) != 1 or any(map(has_graph, others)):
            return
        if not result.dim():
            self._reduced.put(result, known[0])
        elif len(others) == 1 and self._are_weights(operation, known[0], others[0]):
            made = self._tensors.get(result)
            if made is not None:
                facts = self._tensors.describe(others[0])
                self._products[made] = _Product(known[0], operation.place, facts)

    def _are_weights(self, operation: Operation, reduced: _Reduced, data: torch.Tensor) -> bool:
        if data.numel() not in (reduced.values, reduced.samples) or data.numel() < 2 or not readable(data):
            return False
        return self._looks.take(operation.place) and _vary(data.detach())

    # ------------------------------------------------------------------------------------------------------- telling

    def _backward_began(self, call: BackwardCall) -> None:
        walk = self._ledger.walk
        if walk is None or not self._products or call.kind != "backward":
            return
        for made in walk.lineages:
            found = self._products.pop(made, None)
            if found is not None:
                self._tell(found, walk.backward)

    def _tell(self, found: _Product, backward: int) -> None:
        self._looks.told(found.place)
        self.emit(
            WeightedTooLate(
                step=self._course.steps,
                backward=backward,
                location=locate(found.place),
                operation=found.reduced.operation,
                reduced_at=locate(found.reduced.place),
                values=found.reduced.values,
                weights=found.weights,
            )
        )


def _vary(data: torch.Tensor) -> bool:
    return bool((data != data.reshape(-1)[0]).any())
