"""Similarities of unit vectors on their way to a loss over classes: how far apart the scores can be at most."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import torch
from msgspec.structs import replace

from autograd_doctor.events.event import Event
from autograd_doctor.events.losses import NormalisedAcross, ScoresConfined
from autograd_doctor.findings import Location
from autograd_doctor.instruments.instrument import Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.instruments.spine.tape import Tape
from autograd_doctor.instruments.spine.within_step import WithinStep
from autograd_doctor.operations import JOINS, MOVES
from autograd_doctor.reading.live_values import LiveOp, tensor_of
from autograd_doctor.reading.loss_arguments import usual_class_dim
from autograd_doctor.reading.products import summed_up
from autograd_doctor.reading.tensor_facts import readable
from autograd_doctor.signals import Signals
from autograd_doctor.tape import Labels, Op, Value, labels_behind, source_of

_PRODUCTS = frozenset({"bmm", "einsum", "inner", "linear", "matmul", "mm"})
_SIMILARITIES = _PRODUCTS | {"cosine_similarity"}
_KEEPS = (MOVES - {"detach"}) | JOINS | {"masked_fill"}
"""Operations that change no value, but for those that a mask rules out."""
_LOSSES = frozenset({"cross_entropy", "log_softmax"})
_UNIT = 1e-3
"""By how much the length of a vector may differ from 1."""
_MOST_TOLD = 4


class _Confined(NamedTuple):
    """No value is further from 0 than `bound`. scaled_at: where a number has set that, if one has. across: the product,
    if its factors were normalised over the dimension that is not summed up, so that nothing is confined."""

    bound: float
    scaled_at: Location | None = None
    across: Op | None = None


class ConfinedScores(WithinStep):
    """Tells of losses over classes whose scores are similarities, times a number that is no parameter, or would be if
    vectors had been normalised as a whole."""

    emits: ClassVar[tuple[type[Event], ...]] = (ScoresConfined, NormalisedAcross)

    def __init__(self, site: Site, course: Course, detail: Detail, tape: Tape) -> None:
        super().__init__(site, course, detail)
        self._tape = tape
        self._told: Counter[Location | None] = Counter()

    def connect(self, signals: Signals) -> None:
        super().connect(signals)
        self.listen(self._tape.recorded, self._recorded, names=_SIMILARITIES | _LOSSES)

    def _forget(self) -> None:
        self._similarities: set[Op] = set()
        self._across: dict[Op, NormalisedAcross] = {}

    def _recorded(self, op: Op) -> None:
        """Factors are looked at when they meet: they may be gone when the loss is computed."""
        if op.name in _LOSSES:
            self._scored(op)
        elif op.output.learns and _are_similarities(op):
            self._similarities.add(op)
        elif op.output.learns and (found := _normalised_across(op, self._course.steps)) is not None:
            self._across[op] = found

    def _confined(self, op: Op, known: Labels[_Confined]) -> _Confined | None:
        if op in self._similarities:
            return _Confined(1.0)
        if op in self._across:
            return _Confined(math.inf, across=op)
        before = [known[value] for value in op.values if value in known]
        if op.name in _KEEPS:
            whole = before and (op.name not in JOINS or len(before) == len(op.values))
            return max(before, key=lambda each: each.bound) if whole else None
        factor = _factor(op) if before and op.name in ("mul", "div") and op.operands[0] in known else None
        if not factor:
            return None
        bound = before[0].bound * (abs(factor) if op.name == "mul" else 1 / abs(factor))
        return _Confined(bound, op.location, before[0].across)

    def _scored(self, op: Op) -> None:
        is_known = self._similarities or self._across
        scores = op.values[0] if is_known and op.values and self._told[op.location] < _MOST_TOLD else None
        confined = labels_behind(scores, self._confined).get(scores) if scores is not None else None
        tensor = tensor_of(scores) if scores is not None else None
        dim = usual_class_dim(op.name, tensor) if tensor is not None else None
        if confined is None or tensor is None or dim is None or tensor.shape[dim] < 2:
            return
        self._told[op.location] += 1
        if confined.across is not None:
            self.emit(replace(self._across[confined.across], location=op.location))
        else:
            self.emit(
                ScoresConfined(
                    step=self._course.steps,
                    location=op.location,
                    scaled_at=confined.scaled_at,
                    bound=confined.bound,
                    classes=tensor.shape[dim],
                )
            )


def _factor(op: Op) -> float | None:
    """A number, or one in a tensor, that is not learned."""
    other = op.operands[1]
    if not isinstance(other, Value):
        return float(other)
    low, high = other.span or (0.0, 1.0)
    return low if low == high and other.count == 1 else None


def _are_similarities(op: Op) -> bool:
    """Whether both factors of a product consist of vectors of length 1, along what is summed up."""
    if op.name == "cosine_similarity":
        return True
    factors = _factors(op)
    return factors is not None and all(_are_units(factor, along) for factor, along in factors)


def _normalised_across(op: Op, step: int) -> NormalisedAcross | None:
    """The same along the other dimension, and not along that."""
    factors = _factors(op)
    if factors is None or not all(along > -3 and _are_units(factor, -3 - along) for factor, along in factors):
        return None
    first, along = factors[0]
    lengths = torch.linalg.vector_norm(first.detach(), dim=along)
    made = source_of(op.values[0], MOVES).by
    return NormalisedAcross(
        step=step,
        location=None,
        normalised_at=made.location if isinstance(made, LiveOp) else None,
        shape=list(first.shape),
        low=float(lengths.min()),
        high=float(lengths.max()),
    )


def _factors(op: Op) -> Sequence[tuple[torch.Tensor, int]] | None:
    """The two factors of a product, each with the dimension that is summed up, counted from the end."""
    first, *others = map(tensor_of, op.values)
    if first is None or len(others) != 1 or others[0] is None or min(first.dim(), others[0].dim()) < 2:
        return None
    summed = summed_up(op)
    return ((first, summed[0]), (others[0], summed[1])) if summed is not None else None


def _are_units(tensor: torch.Tensor, dim: int) -> bool:
    if not tensor.is_floating_point() or not readable(tensor) or tensor.shape[dim] < 2 or not tensor.numel():
        return False
    lengths = torch.linalg.vector_norm(tensor.detach(), dim=dim)
    return float((lengths - 1).abs().max()) < _UNIT
