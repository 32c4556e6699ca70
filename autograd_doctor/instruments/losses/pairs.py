"""A column met a row of as many values, element by element, and all their pairs were summed up.

`(N, 1)` beside `(N,)` broadcasts to `(N, N)`. What comes of it is followed through operations that work on each value
by itself to a sum or a mean, which counts once a backward has gone through it; a comparison has no gradient, and counts
at once. Not followed is what somebody put across on purpose: two tensors of as many dimensions, a tensor beside itself,
one that got its dimension of size one on the line of the operation, a prediction that got it before it was compared
with a target that it fitted, or a difference of two that are both learned: neither is a target, as where scores of what
was liked are to lie above all others. Nor is it told of where the pairs of what is learned with itself are summed up as
well, as in the energy distance between two samples.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import permutations
from math import prod
from typing import ClassVar, NamedTuple
from weakref import WeakKeyDictionary

import torch

from autograd_doctor.events.event import Event
from autograd_doctor.events.facts import TensorFacts
from autograd_doctor.events.losses import PairsMeant, PairsReduced
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.instruments.spine.ledger import Ledger
from autograd_doctor.instruments.spine.lineage import Lineage
from autograd_doctor.instruments.spine.tape import Tape
from autograd_doctor.instruments.spine.tensors import Tensors
from autograd_doctor.operations import ADDING, BY_ELEMENT, DIFFERENCES, EQUALITIES, MOVES
from autograd_doctor.reading.looks import Looks
from autograd_doctor.reading.numbers import ValueTable
from autograd_doctor.reading.operation_kinds import Kind
from autograd_doctor.reading.pairs import (
    AVERAGES,
    COMBINES,
    ELEMENTWISE,
    REDUCTIONS,
    SMALLEST_OR_LARGEST,
    are_paired,
    is_across_itself,
    is_of_no_sample,
    paired_shape,
    stays_even,
)
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.provenance import Provenance, address, has_graph
from autograd_doctor.reading.tensors_in import tensors_in
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.signals.operations import Operation

_WITHIN = frozenset({"cdist", "pdist"})
"""Operations that take all pairs of samples, of one tensor or of two."""
_FOLLOWED = COMBINES | ELEMENTWISE | REDUCTIONS | MOVES | _WITHIN


@dataclass(frozen=True, slots=True)
class _Pairs:
    """met: a tensor with a graph took part, so that the pairs are in its loss and not in its targets alone.

    even: each is the sum of what the one and the other tensor give to it.
    shown: without a graph, the sum of them is a number to be looked at: labels were compared with what a model made.
    operands: where they lie. learned: where those lie that have a graph. is_across_itself: both are one of these.
    of_parameters: one of them was made of parameters alone, value by value, or of numbers drawn for it as well.
    is_error: they are differences, and nothing else that is learned has come in, as weights of basis functions do: then
    a sum over one dimension is part of a loss, too.
    """

    operation: str
    place: Place | None
    left: TensorFacts
    right: TensorFacts
    shape: list[int]
    values: int
    met: bool
    shown: bool
    is_error: bool
    even: bool
    operands: frozenset[int] = frozenset()
    learned: frozenset[int] = frozenset()
    is_across_itself: bool = False
    of_parameters: bool = False


class _Raised(NamedTuple):
    """Where a tensor got a dimension of size one, and the shape that it had before."""

    place: Place | None
    shape: tuple[int, ...]


class _Sum(NamedTuple):
    pairs: _Pairs
    place: Place | None


class Pairs(Instrument):
    """Tells of pairs that were summed up."""

    emits: ClassVar[tuple[type[Event], ...]] = (PairsReduced, PairsMeant)

    def __init__(
        self, site: Site, course: Course, detail: Detail, tape: Tape, tensors: Tensors, ledger: Ledger, lineage: Lineage
    ) -> None:
        super().__init__(site)
        self._course = course
        self._detail = detail
        self._tape = tape
        self._tensors = tensors
        self._ledger = ledger
        self._lineage = lineage
        self._pairs: ValueTable[_Pairs] = self.value_table()
        self._raised: ValueTable[_Raised] = self.value_table()
        self._sums: WeakKeyDictionary[Provenance, _Sum] = WeakKeyDictionary()
        self._looks: Looks[Place | None] = Looks()
        self._meant: set[Place | None] = set()
        self._shown: dict[int, Place | None] = {}
        self._met_themselves: set[int] = set()

    def connect(self, signals: Signals) -> None:
        self.listen(self._lineage.operated, self._operation_ended, names=_FOLLOWED)
        self.listen(signals.backward.began, self._backward_began, attention=Attention.CLOSE)
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.CLOSE)
        self.listen(self._detail.focused, self._turned)

    def _turned(self, detail: Detail) -> None:
        """What operations of other steps made is not known."""
        self._pairs.clear()
        self._raised.clear()

    def _step_taken(self, course: Course) -> None:
        self._looks.step_taken()
        self._shown.clear()
        self._met_themselves.clear()

    # --------------------------------------------------------------------------------------------------- operations

    def _operation_ended(self, operation: Operation) -> None:
        name, result = operation.name, operation.result
        if operation.kind is not Kind.OPERATION or not isinstance(result, torch.Tensor):
            return
        if name in COMBINES and self._combined(operation, result):
            return
        if name in _WITHIN:
            self._take_within(tensors_in(operation.args)[:2])
        if name in MOVES:
            self._moved(operation, result)
        if self._pairs:
            self._follow(operation, result)

    def _moved(self, operation: Operation, result: torch.Tensor) -> None:
        source = operation.args[0] if operation.args else None
        if isinstance(source, torch.Tensor):
            before = self._raised.get(source)
            if result.dim() > source.dim():
                self._raised.put(result, _Raised(operation.place, tuple(source.shape)))
            elif before is not None and result.dim() == source.dim():
                self._raised.put(result, before)

    def _combined(self, operation: Operation, result: torch.Tensor) -> bool:
        """Whether a column met a row here."""
        operands = tensors_in(operation.args)[:2]
        if len(operands) < 2:
            return False
        learned = frozenset(address(each) for each in operands if has_graph(each))
        is_itself = is_across_itself(*operands)
        if is_itself:
            self._take_within(operands)
        across_itself = bool(learned) and is_itself
        if not across_itself and not self._met_by_accident(operation, *operands):
            return False
        left, right = operands
        pairs = _Pairs(
            operation.name,
            operation.place,
            self._tensors.describe(left, ranges=False),
            self._tensors.describe(right, ranges=False),
            paired_shape(left.shape, right.shape),
            left.numel(),
            met=left.requires_grad or right.requires_grad,
            is_error=operation.name in DIFFERENCES or operation.name in BY_ELEMENT,
            shown=not across_itself and self._is_shown(operation, *operands),
            even=operation.name in ADDING,
            operands=frozenset(map(address, operands)),
            learned=learned,
            is_across_itself=across_itself,
            of_parameters=any(is_of_no_sample(*each) for each in permutations(self._tape.values(operands))),
        )
        self._pairs.put(result, pairs)
        if operation.name in BY_ELEMENT and result.dim() == 0:
            self._summed(operation, result, pairs)
        return True

    def _met_by_accident(self, operation: Operation, left: torch.Tensor, right: torch.Tensor) -> bool:
        """Whether a column met a row that nobody put across it, at a line that is to be looked at."""
        are_across = are_paired(left, right, in_loss=operation.name in BY_ELEMENT)
        return are_across and not self._is_meant(operation, left, right) and self._looks.take(operation.place)

    def _is_meant(self, operation: Operation, left: torch.Tensor, right: torch.Tensor) -> bool:
        """Whether the program itself put one across the other: the mean of an outer product is of no use to anybody."""
        if operation.name in DIFFERENCES and has_graph(left) and has_graph(right):
            return True
        compares = operation.name in DIFFERENCES or operation.name in EQUALITIES
        for operand, other in ((left, right), (right, left)):
            raised = self._raised.get(operand)
            if raised is None:
                continue
            on_this_line = _line(raised.place) == _line(operation.place)
            fitted = compares and raised.shape == tuple(other.shape) and operand.requires_grad
            if (on_this_line or fitted) and operation.name not in BY_ELEMENT:
                return True
        return False

    def _is_shown(self, operation: Operation, *operands: torch.Tensor) -> bool:
        """Whether what a model made is compared with what may be labels, which the same model does not make."""
        one, other = (made.values if (made := self._tensors.get(each)) is not None else 0 for each in operands)
        return bool(one or other) and not one & other and (operation.name in EQUALITIES or not (one and other))

    def _follow(self, operation: Operation, result: torch.Tensor) -> None:
        """Pairs go on through all that works on each value by itself, to where they are summed up."""
        name = operation.name
        inputs = operation.inputs
        known = [pairs for pairs in map(self._pairs.get, inputs) if pairs is not None]
        if not known or (name in SMALLEST_OR_LARGEST and len(inputs) < 2):
            return
        pairs = known[0]
        self._choose(pairs, [tensor for tensor in inputs if tensor not in self._pairs])
        if name in REDUCTIONS:
            pairs = replace(pairs, even=pairs.even and name in AVERAGES)
            if result.numel() == 1:
                self._summed(operation, result, pairs)
            elif pairs.is_error:
                self._pairs.put(result, pairs)
        elif name in MOVES:
            self._pairs.put(result, pairs)
        elif name in ELEMENTWISE and not _is_mask(pairs, name):
            others = [tensor for tensor in inputs if tensor not in self._pairs]
            if not any(other.numel() > pairs.values for other in others):
                met = pairs.met or any(other.requires_grad and other.numel() == pairs.values for other in others)
                is_error = pairs.is_error and not any(other.requires_grad and other.numel() > 1 for other in others)
                even = stays_even(name, [each.even for each in known], others)
                pairs = replace(pairs, met=met, is_error=is_error, even=even)
                self._pairs.put(result, pairs)
                if name in BY_ELEMENT and result.dim() == 0 and met:
                    self._summed(operation, result, pairs)

    def _choose(self, pairs: _Pairs, others: list[torch.Tensor]) -> None:
        beside = any(other.numel() == prod(pairs.shape) for other in others)
        if beside and pairs.operation in EQUALITIES:
            self._are_meant(pairs.place)

    def _take_within(self, operands: list[torch.Tensor]) -> None:
        """The samples of one tensor meet each other: those that are compared with others are a sample as well."""
        where = {address(each) for each in operands}
        if len(where) == 1:
            self._met_themselves |= where
            for place in [self._shown[each] for each in where & self._shown.keys()]:
                self._are_meant(place)

    def _are_meant(self, place: Place | None) -> None:
        """Say it once for each line."""
        if place not in self._meant:
            self._meant.add(place)
            self.emit(PairsMeant(step=self._course.steps, location=locate(place)))

    # ---------------------------------------------------------------------------------------------------------- sums

    def _summed(self, operation: Operation, result: torch.Tensor, pairs: _Pairs) -> None:
        made = self._tensors.get(result)
        if result.requires_grad and made is not None and pairs.met:
            self._sums[made] = _Sum(pairs, operation.place)
        elif pairs.shown and not result.requires_grad:
            self._tell(_Sum(pairs, operation.place), None)
            self._shown.update(dict.fromkeys(pairs.operands, pairs.place))
            if pairs.operands & self._met_themselves:
                self._are_meant(pairs.place)

    def _backward_began(self, call: BackwardCall) -> None:
        walk = self._ledger.walk
        if walk is None or not self._sums:
            return
        sums = [seen for made in walk.lineages if (seen := self._sums.pop(made, None)) is not None]
        across_themselves = {where for seen in sums if seen.pairs.is_across_itself for where in seen.pairs.learned}
        for seen in sums:
            if seen.pairs.learned.isdisjoint(across_themselves):
                self._tell(seen, walk.backward)

    def _tell(self, seen: _Sum, backward: int | None) -> None:
        pairs = seen.pairs
        self._looks.told(pairs.place)
        self.emit(
            PairsReduced(
                step=self._course.steps,
                location=locate(pairs.place),
                operation=pairs.operation,
                left=pairs.left,
                right=pairs.right,
                shape=pairs.shape,
                reduced_at=locate(seen.place),
                backward=backward,
                even=pairs.even,
                of_parameters=pairs.of_parameters,
            )
        )


def _is_mask(pairs: _Pairs, name: str) -> bool:
    """Whether the outcome of a comparison is used to choose values, rather than counted."""
    return pairs.operation in EQUALITIES and name in COMBINES


def _line(place: Place | None) -> tuple[str, int] | None:
    location = locate(place)
    return (location.path, location.line) if location is not None else None
