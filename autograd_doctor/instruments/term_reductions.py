"""Losses that add up a mean over the samples of a batch and a sum over them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple
from weakref import WeakKeyDictionary

import torch

from autograd_doctor.events import Event, ReductionsMixed
from autograd_doctor.instruments.course import Course
from autograd_doctor.instruments.detail import Detail
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.ledger import Ledger
from autograd_doctor.instruments.lineage import Lineage
from autograd_doctor.instruments.module_calls import ModuleCalls, RootBegan
from autograd_doctor.instruments.tensors import Tensors
from autograd_doctor.reading.losses import LOSSES
from autograd_doctor.reading.made import Made, has_graph
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.pairs import ADDING, AVERAGES, ELEMENTWISE, SCALING
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.signs import NEGATIONS
from autograd_doctor.reading.tensors_in import tensors_in
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.signals.operations import Operation

_PLAIN = (0.5, 1.0, 2.0)
"""Factors that formulas have, as one half in a divergence of normal distributions; others are weights of a term."""
_MOST_TOLD = 4
"""Of a line: terms are put together in the same way in every step."""


class _Term(NamedTuple):
    """One number that stands for a batch: what reduced so many values to it."""

    is_sum: bool
    operation: str
    place: Place | None
    values: int


class _Mixed(NamedTuple):
    place: Place | None
    whole: _Term
    average: _Term


class TermReductions(Instrument):
    """Follows, in steps that are looked at closely, what reduces the values of a batch to where two of it meet.

    Not followed any further are terms that are multiplied, but for a factor of two, and sums of what is weighed value
    by value: by data, as by the advantages of a policy, by a number, or by what is learned itself, as by shares.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (ReductionsMixed,)

    def __init__(
        self,
        site: Site,
        course: Course,
        detail: Detail,
        tensors: Tensors,
        ledger: Ledger,
        lineage: Lineage,
        module_calls: ModuleCalls,
    ) -> None:
        super().__init__(site)
        self._course = course
        self._detail = detail
        self._tensors = tensors
        self._ledger = ledger
        self._lineage = lineage
        self._module_calls = module_calls
        self._samples: set[int] = set()
        self._weighted: IdentityTable[None] = IdentityTable()
        self._terms: IdentityTable[_Term] = IdentityTable()
        self._mixed: WeakKeyDictionary[Made, _Mixed] = WeakKeyDictionary()
        self._told: dict[Place | None, int] = {}

    def connect(self, signals: Signals) -> None:
        self.listen(self._module_calls.root_began, self._root_began, attention=Attention.CLOSE)
        self.listen(self._lineage.operated, self._operation_ended, names=LOSSES | ELEMENTWISE | AVERAGES | {"sum"})
        self.listen(signals.backward.began, self._backward_began, attention=Attention.CLOSE)
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.CLOSE)
        self.listen(self._detail.focused, self._turned)

    def _turned(self, detail: Detail) -> None:
        """What operations of other steps made is not known."""
        self._terms, self._weighted = IdentityTable(), IdentityTable()

    def _step_taken(self, course: Course) -> None:
        self._samples = set()

    def _root_began(self, began: RootBegan) -> None:
        if began.call.grad_enabled:
            self._samples |= {tensor.shape[0] for tensor in began.given if tensor.dim() and tensor.shape[0] > 1}

    # ---------------------------------------------------------------------------------------------------- operations

    def _operation_ended(self, operation: Operation) -> None:
        result = operation.result
        if not isinstance(result, torch.Tensor) or not has_graph(result) or not self._samples:
            return
        if result.dim():
            if operation.name in ELEMENTWISE and self._is_weighted(operation):
                self._weighted.put(result, None)
        elif operation.name in LOSSES | AVERAGES | {"sum"}:
            self._reduced(operation, result)
        elif self._terms:
            self._combined(operation, result)

    def _is_weighted(self, operation: Operation) -> bool:
        """Whether values are scaled by data, by a number that is no plain one, or by one another."""
        tensors = tensors_in(operation.args)
        if self._weighted and any(each in self._weighted for each in tensors):
            return True
        if operation.name not in SCALING:
            return False
        apart = len(tensors) > 1 and tensors[0] is not tensors[1]
        return apart or (len(tensors) == 1 and not _is_plain(operation.args))

    def _reduced(self, operation: Operation, result: torch.Tensor) -> None:
        values = operation.args[0] if operation.args else operation.kwargs.get("input")
        if not isinstance(values, torch.Tensor) or not values.dim() or values.shape[0] not in self._samples:
            return
        is_sum = operation.name == "sum" or operation.kwargs.get("reduction") == "sum"
        if not (is_sum and values in self._weighted):
            self._terms.put(result, _Term(is_sum, operation.name, operation.place, values.numel()))

    def _combined(self, operation: Operation, result: torch.Tensor) -> None:
        """Of terms that meet, the first goes on: what a third one is added to is neither the one nor the other."""
        terms = [term for each in tensors_in(operation.args) if (term := self._terms.get(each)) is not None]
        if operation.name in NEGATIONS or (operation.name in SCALING and _is_plain(operation.args)):
            for term in terms[:1]:
                self._terms.put(result, term)
        elif operation.name in ADDING and len(terms) == 2:
            whole = next((term for term in terms if term.is_sum), None)
            average = next((term for term in terms if not term.is_sum), None)
            made = self._tensors.get(result)
            if whole is not None and average is not None and made is not None:
                self._mixed[made] = _Mixed(operation.place, whole, average)
            else:
                self._terms.put(result, terms[0])

    # ------------------------------------------------------------------------------------------------------- telling

    def _backward_began(self, call: BackwardCall) -> None:
        walk = self._ledger.walk
        if walk is None or not self._mixed or call.kind != "backward":
            return
        for made in walk.lineages:
            found = self._mixed.pop(made, None)
            if found is not None and self._told.get(found.place, 0) < _MOST_TOLD:
                self._told[found.place] = self._told.get(found.place, 0) + 1
                self._tell(found, walk.backward)

    def _tell(self, found: _Mixed, backward: int) -> None:
        self.emit(
            ReductionsMixed(
                step=self._course.steps,
                backward=backward,
                location=locate(found.place),
                sum_of=found.whole.operation,
                summed=found.whole.values,
                sum_at=locate(found.whole.place),
                mean_of=found.average.operation,
                averaged=found.average.values,
                mean_at=locate(found.average.place),
                samples=max(self._samples, default=0),
            )
        )


def _is_plain(operands: Sequence[Any]) -> bool:
    """Whether what a term is scaled by is one half, one or two."""
    factors = [each for each in operands if not isinstance(each, torch.Tensor)]
    return len(factors) == 1 and isinstance(factors[0], int | float) and abs(factors[0]) in _PLAIN
