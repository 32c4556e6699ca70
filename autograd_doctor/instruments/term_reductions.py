"""Losses that add up a mean over the samples of a batch and a sum over them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, NamedTuple
from weakref import WeakKeyDictionary

import torch

from autograd_doctor.events import Event, ReductionsMixed
from autograd_doctor.instruments.course import Course
from autograd_doctor.instruments.detail import Detail
from autograd_doctor.instruments.divergences import Divergences
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.ledger import Ledger
from autograd_doctor.instruments.lineage import Lineage
from autograd_doctor.instruments.module_calls import ModuleCalls, RootBegan
from autograd_doctor.instruments.tensors import Tensors
from autograd_doctor.reading.loss_arguments import operands_of
from autograd_doctor.reading.losses import CLASSES, LOSSES
from autograd_doctor.reading.made import Made, has_graph
from autograd_doctor.reading.numbers import ValueTable
from autograd_doctor.reading.pairs import ADDING, AVERAGES, ELEMENTWISE, SCALING
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.signs import DIVISIONS, NEGATIONS
from autograd_doctor.reading.tensor_facts import readable
from autograd_doctor.reading.tensors_in import tensors_in
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.signals.operations import Operation

_PLAIN = (0.5, 1.0, 2.0)
"""Factors that formulas have, as one half in a divergence of normal distributions; others are weights of a term."""
_MOST_TOLD = 4
"""Of a line: terms are put together in the same way in every step."""
_MOST_SIZES = 200
"""Of the divergences of a line: what becomes of them shows late."""


class _Term(NamedTuple):
    """One number that stands for a batch: what reduced so many values to it.

    how: by a "sum" or a "mean" of all of them, or by a "share": a sum within each sample, and a mean over these.
    samples: of the batch. divergence: what came out, where each value is the divergence of a distribution from another.
    """

    how: Literal["sum", "mean", "share"]
    operation: str
    place: Place | None
    values: int
    samples: int
    divergence: float | None = None


class _Half(NamedTuple):
    """What a reduction left of divergences: one value for each sample ("sum"), or the mean over samples of each."""

    how: Literal["sum", "mean"]
    values: int
    samples: int


class _Mixed(NamedTuple):
    """Of two terms that were added, the one that is the smaller for being an average over more values."""

    place: Place | None
    larger: _Term
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
        divergences: Divergences,
    ) -> None:
        super().__init__(site)
        self._divergences = divergences
        self._course = course
        self._detail = detail
        self._tensors = tensors
        self._ledger = ledger
        self._lineage = lineage
        self._module_calls = module_calls
        self._samples: set[int] = set()
        self._weighted: ValueTable[None] = self.value_table()
        self._terms: ValueTable[_Term] = self.value_table()
        self._halves: ValueTable[_Half] = self.value_table()
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
        for table in (self._terms, self._weighted, self._halves):
            table.clear()

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
            self._halved(operation, result)
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

    def _halved(self, operation: Operation, result: torch.Tensor) -> None:
        """Divergences that are reduced within the samples, or over them, and what is made of that."""
        values = _values_of(operation)
        if values is None or not values.dim():
            return
        half = self._halves.get(values)
        if half is not None and _leaves_as_it_is(operation):
            self._halves.put(result, half)
        elif operation.name in AVERAGES | {"sum"} and values.shape[0] in self._samples:
            how: Literal["sum", "mean"] = "sum" if operation.name == "sum" else "mean"
            rest = values.shape[:1] if how == "sum" else values.shape[1:]
            if result.shape == rest and self._divergences.is_one(values):
                self._halves.put(result, _Half(how, values.numel(), values.shape[0]))

    def _reduced(self, operation: Operation, result: torch.Tensor) -> None:
        values = _values_of(operation)
        if values is None or not values.dim():
            return
        is_sum = operation.name == "sum" or operation.kwargs.get("reduction") == "sum"
        half = self._halves.get(values)
        if half is not None and is_sum == (half.how == "mean"):
            self._terms.put(result, _share(operation, half, result))
        elif values.shape[0] in self._samples and not (is_sum and values in self._weighted):
            divergence = _number(result) if is_sum and self._divergences.is_one(values) else None
            how: Literal["sum", "mean"] = "sum" if is_sum else "mean"
            count, samples = _count(operation, values), values.shape[0]
            self._terms.put(result, _Term(how, operation.name, operation.place, count, samples, divergence))

    def _combined(self, operation: Operation, result: torch.Tensor) -> None:
        """Of terms that meet, the first goes on: what a third one is added to is neither the one nor the other."""
        terms = [term for each in tensors_in(operation.args) if (term := self._terms.get(each)) is not None]
        if _leaves_as_it_is(operation):
            for term in terms[:1]:
                self._terms.put(result, term)
        elif operation.name in DIVISIONS and len(terms) == 1 and terms[0].divergence is not None:
            if isinstance(operation.args[1], int | float) and operation.args[1] == terms[0].samples:
                self._terms.put(result, terms[0]._replace(how="share", divergence=_number(result)))
        elif operation.name in ADDING and len(terms) == 2:
            mixed = _mixed(operation.place, terms[0], terms[1])
            made = self._tensors.get(result)
            if mixed is not None and made is not None:
                self._mixed[made] = mixed
            else:
                self._terms.put(result, terms[0])

    # ------------------------------------------------------------------------------------------------------- telling

    def _backward_began(self, call: BackwardCall) -> None:
        walk = self._ledger.walk
        if walk is None or not self._mixed or call.kind != "backward":
            return
        for made in walk.lineages:
            found = self._mixed.pop(made, None)
            if found is None:
                continue
            most = _MOST_SIZES if found.larger.how == "share" else _MOST_TOLD
            if self._told.get(found.place, 0) < most:
                self._told[found.place] = self._told.get(found.place, 0) + 1
                self._tell(found, walk.backward)

    def _tell(self, found: _Mixed, backward: int) -> None:
        self.emit(
            ReductionsMixed(
                step=self._course.steps,
                backward=backward,
                location=locate(found.place),
                sum_of=found.larger.operation,
                summed=found.larger.values,
                sum_at=locate(found.larger.place),
                mean_of=found.average.operation,
                averaged=found.average.values,
                mean_at=locate(found.average.place),
                samples=found.larger.samples,
                divergence=found.larger.divergence if found.larger.how == "share" else None,
            )
        )


def _mixed(where: Place | None, one: _Term, other: _Term) -> _Mixed | None:
    """Two terms of which one averages what the other adds up: over the batch, or, beside divergences, in a sample.

    Of different batches, as of points inside and on a border, each has a number of samples of its own.
    """
    if one.samples != other.samples:
        return None
    for larger, average in ((one, other), (other, one)):
        if larger.how == "sum" and average.how != "sum":
            return _Mixed(where, larger, average)
        if larger.how == "share" and larger.divergence is not None and average.how == "mean":
            return _Mixed(where, larger, average)
    return None


def _share(operation: Operation, half: _Half, result: torch.Tensor) -> _Term:
    return _Term("share", operation.name, operation.place, half.values, half.samples, _number(result))


def _values_of(operation: Operation) -> torch.Tensor | None:
    values = operation.args[0] if operation.args else operation.kwargs.get("input")
    return values if isinstance(values, torch.Tensor) else None


def _count(operation: Operation, values: torch.Tensor) -> int:
    """How many values a reduction takes together; a loss over classes has one for each target."""
    operands = operands_of(operation.args, operation.kwargs) if operation.name in CLASSES else None
    return min(values.numel(), operands[1].numel()) if operands is not None else values.numel()


def _number(result: torch.Tensor) -> float | None:
    return float(result) if readable(result) else None


def _leaves_as_it_is(operation: Operation) -> bool:
    """But for its sign, and a factor that belongs to a formula."""
    return operation.name in NEGATIONS or (operation.name in SCALING and _is_plain(operation.args))


def _is_plain(operands: Sequence[Any]) -> bool:
    """Whether what a term is scaled by is one half, one or two."""
    factors = [each for each in operands if not isinstance(each, torch.Tensor)]
    return len(factors) == 1 and isinstance(factors[0], int | float) and abs(factors[0]) in _PLAIN
