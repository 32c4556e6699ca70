"""Losses that add up a mean over the samples of a batch and a sum over them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import ClassVar, Literal, NamedTuple

import torch
from msgspec.structs import replace

from autograd_doctor.events.event import Event
from autograd_doctor.events.losses import ReductionsMixed
from autograd_doctor.findings import Location
from autograd_doctor.instruments.instrument import Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.late_values import LateValues
from autograd_doctor.instruments.spine.loss_query import LossQuery
from autograd_doctor.instruments.spine.module_calls import ModuleCalls, RootBegan
from autograd_doctor.instruments.spine.tape import Tape
from autograd_doctor.operations import CLASSES, LOSSES, SCALING
from autograd_doctor.reading.divergences import PLAIN, is_bare_divergence, is_divergence
from autograd_doctor.reading.live_values import tensor_of
from autograd_doctor.reading.pairs import AVERAGES, ELEMENTWISE
from autograd_doctor.reading.tensor_facts import readable
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.tape import Labels, Op, Value, behind, labels_behind

_REDUCTIONS = AVERAGES | {"sum"}
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
    location: Location | None
    values: int
    samples: int
    divergence: torch.Tensor | None = None


class _Half(NamedTuple):
    """What a reduction left of divergences: one value for each sample ("sum"), or the mean over samples of each."""

    how: Literal["sum", "mean"]
    values: int
    samples: int


class _Mixed(NamedTuple):
    """Of two terms that were added, the one that is the smaller for being an average over more values."""

    location: Location | None
    larger: _Term
    average: _Term


_Label = _Term | _Half | _Mixed | Literal["weighted"]


class TermReductions(LossQuery):
    """Follows, in steps that are looked at closely, what reduces the values of a batch to where two of it meet.

    Not followed any further are terms that are multiplied, but for a factor of two, and sums of what is weighed value
    by value: by data, as by the advantages of a policy, by a number, or by what is learned itself, as by shares. What
    the formula of a divergence divides by weighs nothing.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (ReductionsMixed,)

    def __init__(
        self, site: Site, course: Course, tape: Tape, late_values: LateValues, module_calls: ModuleCalls
    ) -> None:
        super().__init__(site, course, tape)
        self._late_values = late_values
        self._module_calls = module_calls
        self._samples: set[int] = set()
        self._given: set[Value] = set()
        self._sums: dict[Value, torch.Tensor] = {}
        self._told: Counter[Location | None] = Counter()

    def connect(self, signals: Signals) -> None:
        super().connect(signals)
        self.listen(self._module_calls.root_began, self._root_began, attention=Attention.CLOSE)
        self.listen(self._tape.recorded, self._summed, names=_REDUCTIONS | {"div"})
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.CLOSE)

    def _step_taken(self, course: Course) -> None:
        self._samples, self._given = set(), set()
        self._sums.clear()

    def _root_began(self, began: RootBegan) -> None:
        if began.call.grad_enabled:
            rows = [tensor for tensor in began.given if tensor.dim() and tensor.shape[0] > 1]
            self._samples |= {tensor.shape[0] for tensor in rows}
            self._given |= {*self._tape.values(rows)}

    def _summed(self, op: Op) -> None:
        """Keep what came out: how large a divergence is shows when the backward begins, and nobody may hold it then."""
        tensor = tensor_of(op.output)
        if tensor is not None and op.output.learns and not tensor.dim() and readable(tensor):
            self._sums[op.output] = tensor.detach().clone()

    # ------------------------------------------------------------------------------------------------------ a loss

    def _ask(self, roots: Sequence[Value], call: BackwardCall) -> None:
        if not self._samples:
            return
        for root in roots:
            for found in labels_behind(root, self._label).values():
                most = _MOST_SIZES if isinstance(found, _Mixed) and found.larger.how == "share" else _MOST_TOLD
                if isinstance(found, _Mixed) and self._told[found.location] < most:
                    self._told[found.location] += 1
                    self._tell(found, self._course.backwards)

    def _label(self, op: Op, known: Labels[_Label]) -> _Label | None:
        if not op.values:
            return None
        if op.output.shape:
            is_weighted = op.name in ELEMENTWISE and _is_weighted(op, known)
            return self._half(op, known) or ("weighted" if is_weighted else None)
        if op.name in LOSSES | _REDUCTIONS:
            return self._reduced(op, known)
        return self._combined(op, known)

    def _half(self, op: Op, known: Labels[_Label]) -> _Half | None:
        """Divergences that are reduced within the samples, or over them, and what is made of that."""
        values = op.values[0]
        half = known.get(values)
        if isinstance(half, _Half) and _leaves_as_it_is(op):
            return half
        if op.name not in _REDUCTIONS or not values.shape or values.shape[0] not in self._samples:
            return None
        how: Literal["sum", "mean"] = "sum" if op.name == "sum" else "mean"
        rest = values.shape[:1] if how == "sum" else values.shape[1:]
        is_half = op.output.shape == rest and is_divergence(values)
        return _Half(how, values.count, values.shape[0]) if is_half else None

    def _reduced(self, op: Op, known: Labels[_Label]) -> _Term | None:
        values, before = op.values[0], known.get(op.values[0])
        is_sum = op.name == "sum" or (op.name in LOSSES and op.reduction == "sum")
        if isinstance(before, _Half) and is_sum == (before.how == "mean"):
            return _Term("share", op.called, op.location, before.values, before.samples, self._sums.get(op.output))
        if not values.shape or values.shape[0] not in self._samples:
            return None
        if is_sum and ((before == "weighted" and not is_bare_divergence(values)) or not self._is_of_batch(values)):
            return None
        divergence = self._sums.get(op.output) if is_sum and is_divergence(values) else None
        return _Term("sum" if is_sum else "mean", op.called, op.location, _count(op), values.shape[0], divergence)

    def _is_of_batch(self, value: Value) -> bool:
        """Whether it came of what a model was given, and not of its weights alone: as many rows may be a matrix's."""
        return any(each in self._given for op in behind([value], live=False) for each in op.values)

    def _combined(self, op: Op, known: Labels[_Label]) -> _Term | _Mixed | None:
        """Of terms that meet, the first goes on: what a third one is added to is neither the one nor the other."""
        terms = [term for value in op.values if isinstance(term := known.get(value), _Term)]
        if _leaves_as_it_is(op):
            return terms[0] if terms else None
        if op.name == "div" and len(terms) == 1 and terms[0].divergence is not None:
            is_share = op.operands[1] == terms[0].samples
            return terms[0]._replace(how="share", divergence=self._sums.get(op.output)) if is_share else None
        if op.name in ("add", "sub") and len(terms) == 2:
            return _mixed(op.location, terms[0], terms[1]) or terms[0]
        return None

    def _tell(self, found: _Mixed, backward: int) -> None:
        event = ReductionsMixed(
            step=self._course.steps,
            backward=backward,
            location=found.location,
            sum_of=found.larger.operation,
            summed=found.larger.values,
            sum_at=found.larger.location,
            mean_of=found.average.operation,
            averaged=found.average.values,
            mean_at=found.average.location,
            samples=found.larger.samples,
        )
        divergence = found.larger.divergence if found.larger.how == "share" else None
        self._late_values.ask(
            self,
            [divergence] if divergence is not None else [],
            lambda values: self.emit(replace(event, divergence=next(iter(values), None))),
            in_place=True,
        )


def _mixed(where: Location | None, one: _Term, other: _Term) -> _Mixed | None:
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


def _is_weighted(op: Op, known: Labels[_Label]) -> bool:
    """Whether values are scaled by data, by a number that is no plain one, or by one another."""
    if any(known.get(value) == "weighted" for value in op.values):
        return True
    apart = len(op.values) > 1 and op.values[0] is not op.values[1]
    return op.name in SCALING and (apart or (len(op.values) == 1 and not _is_plain(op)))


def _count(op: Op) -> int:
    """How many values a reduction takes together; a loss over classes has one for each target."""
    counts = [value.count for value in op.values[:2]]
    return min(counts) if op.name in CLASSES else counts[0]


def _leaves_as_it_is(op: Op) -> bool:
    """But for its sign, and a factor that belongs to a formula."""
    return op.name == "neg" or (op.name in SCALING and _is_plain(op))


def _is_plain(op: Op) -> bool:
    """Whether what a term is scaled by is one half, one or two."""
    return len(op.numbers) == 1 and abs(op.numbers[0]) in PLAIN
