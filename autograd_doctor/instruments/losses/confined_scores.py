"""Similarities of unit vectors on their way to a loss over classes: how far apart the scores can be at most."""

from __future__ import annotations

from collections import Counter
from typing import ClassVar, NamedTuple

import torch

from autograd_doctor.events.event import Event
from autograd_doctor.events.losses import ScoresConfined
from autograd_doctor.findings import Location
from autograd_doctor.instruments.instrument import Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.instruments.spine.tape import Tape
from autograd_doctor.instruments.spine.within_step import WithinStep
from autograd_doctor.operations import JOINS, MOVES
from autograd_doctor.reading.live_values import tensor_of
from autograd_doctor.reading.loss_arguments import usual_class_dim
from autograd_doctor.reading.tensor_facts import readable
from autograd_doctor.signals import Signals
from autograd_doctor.tape import Labels, Op, Value, labels_behind

_PRODUCTS = frozenset({"linear", "matmul", "mm"})
_SIMILARITIES = _PRODUCTS | {"cosine_similarity"}
_KEEPS = (MOVES - {"detach"}) | JOINS | {"masked_fill"}
"""Operations that change no value, but for those that a mask rules out."""
_LOSSES = frozenset({"cross_entropy", "log_softmax"})
_UNIT = 1e-3
"""By how much the length of a vector may differ from 1."""
_MOST_TOLD = 4


class _Confined(NamedTuple):
    """No value is further from 0 than `bound`. scaled_at: where a number has set that, if one has."""

    bound: float
    scaled_at: Location | None = None


class ConfinedScores(WithinStep):
    """Tells of losses over classes whose scores are similarities, times a number that is no parameter."""

    emits: ClassVar[tuple[type[Event], ...]] = (ScoresConfined,)

    def __init__(self, site: Site, course: Course, detail: Detail, tape: Tape) -> None:
        super().__init__(site, course, detail)
        self._tape = tape
        self._told: Counter[Location | None] = Counter()

    def connect(self, signals: Signals) -> None:
        super().connect(signals)
        self.listen(self._tape.recorded, self._recorded, names=_SIMILARITIES | _LOSSES)

    def _forget(self) -> None:
        self._similarities: set[Op] = set()

    def _recorded(self, op: Op) -> None:
        """Factors are looked at when they meet: they may be gone when the loss is computed."""
        if op.name in _LOSSES:
            self._scored(op)
        elif op.output.learns and _are_similarities(op):
            self._similarities.add(op)

    def _confined(self, op: Op, known: Labels[_Confined]) -> _Confined | None:
        if op in self._similarities:
            return _Confined(1.0)
        before = [known[value] for value in op.values if value in known]
        if op.name in _KEEPS:
            whole = before and (op.name not in JOINS or len(before) == len(op.values))
            return max(before, key=lambda each: each.bound) if whole else None
        factor = _factor(op) if before and op.name in ("mul", "div") and op.operands[0] in known else None
        if not factor:
            return None
        return _Confined(before[0].bound * (abs(factor) if op.name == "mul" else 1 / abs(factor)), op.location)

    def _scored(self, op: Op) -> None:
        scores = op.values[0] if self._similarities and op.values and self._told[op.location] < _MOST_TOLD else None
        confined = labels_behind(scores, self._confined).get(scores) if scores is not None else None
        tensor = tensor_of(scores) if scores is not None else None
        dim = usual_class_dim(op.name, tensor) if tensor is not None else None
        if confined is not None and tensor is not None and dim is not None and tensor.shape[dim] > 1:
            self._told[op.location] += 1
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
    factors = [tensor_of(value) for value in op.values]
    if len(factors) != 2:
        return False
    first, second = factors
    along = -1 if op.name == "linear" else -2
    return _are_units(first, -1) and _are_units(second, along)


def _are_units(tensor: torch.Tensor | None, dim: int) -> bool:
    if tensor is None or tensor.dim() < 2 or not tensor.is_floating_point() or not readable(tensor):
        return False
    if tensor.shape[dim] < 2 or not tensor.numel():
        return False
    lengths = torch.linalg.vector_norm(tensor.detach(), dim=dim)
    return float((lengths - 1).abs().max()) < _UNIT
