"""Losses that are never below zero, or the negative of one that is not, up to constants and positive weights.

These are loss functions of torch, and sizes of differences between predictions and data. Other sizes may well be
maximised, as the spread of a projection is. The sign is that of the term that sees data: what is computed of parameters
alone, as a penalty on weights, may be added to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto
from typing import ClassVar, NamedTuple

from autograd_doctor.events.event import Event
from autograd_doctor.events.losses import LossSignSeen
from autograd_doctor.findings import Location
from autograd_doctor.instruments.instrument import Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.loss_query import LossQuery
from autograd_doctor.instruments.spine.optimizers import Optimizers
from autograd_doctor.instruments.spine.tape import Tape
from autograd_doctor.operations import JOINS, NEVER_NEGATIVE, PRODUCTS, REARRANGEMENTS, SUMS
from autograd_doctor.reading.places import here
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.tape import Labels, Op, Value, labels_behind

_SIZES = frozenset({"abs", "norm", "square"})
_GROWING = frozenset({"clamp", "clamp_min", "log1p", "sqrt"})
_MOST_PLACES = 16


class _Bounded(NamedTuple):
    """A tensor that is something never below zero, or its negative, up to a constant; where its sign was changed."""

    negated: bool
    operation: str
    location: Location | None
    negated_at: Location | None = None

    def turned(self, location: Location | None) -> _Bounded:
        return self._replace(negated=not self.negated, negated_at=location)


class _Before(Enum):
    """What a loss is made of: differences from data, log-probabilities of classes, and parameters alone."""

    RESIDUAL = auto()
    LOG_PROBABILITIES = auto()
    PENALTY = auto()


_Label = _Bounded | _Before


class LossSigns(LossQuery):
    """Tells for each line with a backward what sign its loss has, when that is first seen and when it changes."""

    emits: ClassVar[tuple[type[Event], ...]] = (LossSignSeen,)

    def __init__(self, site: Site, course: Course, tape: Tape, optimizers: Optimizers) -> None:
        super().__init__(site, course, tape)
        self._optimizers = optimizers
        self._told: set[tuple[object, bool]] = set()

    def _ask(self, roots: Sequence[Value], call: BackwardCall) -> None:
        root = roots[0]
        known = labels_behind(root, _label).get(root) if len(roots) == 1 and root.count == 1 else None
        if not isinstance(known, _Bounded):
            return
        climber = self._climber(root)
        negated = known.negated != (climber is not None)
        where = here()
        if (where, negated) in self._told or len(self._told) >= _MOST_PLACES:
            return
        self._told.add((where, negated))
        self.emit(
            LossSignSeen(
                step=self._course.steps,
                backward=self._course.backwards,
                location=where,
                negated=negated,
                operation=known.operation,
                is_loss=known.operation in NEVER_NEGATIVE | {"nll_loss"},
                bounded_at=known.location,
                negated_at=known.negated_at,
                maximises=climber,
            )
        )

    def _climber(self, root: Value) -> int | None:
        """The optimizer that climbs, if it holds all of the parameters that the loss teaches and any one holds."""
        taught = root.connected & self._optimizers.held
        held = dict(self._optimizers.holders())
        for number, optimizer in self._optimizers.living():
            bits = sum(1 << parameter for parameter in held.get(number, ()))
            climbs = all(group.get("maximize") is True for group in optimizer.param_groups)
            if climbs and taught and not taught & ~bits:
                return number
        return None


def _label(op: Op, known: Labels[_Label]) -> _Label | None:
    """A loss function, the size of what is left between predictions and data, and what becomes of them."""
    if not op.output.learns:
        return None
    before = [known.get(value) for value in op.live]
    if op.name == "log_softmax" or (op.name in REARRANGEMENTS and before[:1] == [_Before.LOG_PROBABILITIES]):
        return _Before.LOG_PROBABILITIES
    of_classes = op.name == "nll_loss" and before[:1] == [_Before.LOG_PROBABILITIES]
    if op.name in NEVER_NEGATIVE or of_classes:
        return _Bounded(False, op.name, op.location)
    if before[:1] == [_Before.RESIDUAL] and (op.name in _SIZES or _is_even_power(op)):
        return _Bounded(False, op.called, op.location)
    bounded = [each for each in before if isinstance(each, _Bounded)]
    if bounded and len(bounded) + before.count(_Before.PENALTY) == len(before):
        return _carried(op, bounded, known)
    if (op.name == "sub" and _is_residual(op)) or (before == [_Before.RESIDUAL] and _is_scaled(op)):
        return _Before.RESIDUAL
    return _Before.PENALTY if _is_penalty(op, known) else None


def _is_penalty(op: Op, known: Labels[_Label]) -> bool:
    """Whether an operation takes parameters, or what was made of them alone, and no data."""
    alone = all(known.get(value) is _Before.PENALTY for value in op.live)
    return alone and all(value.is_parameter or value.count == 1 for value in op.plain)


def _is_residual(op: Op) -> bool:
    """Whether a difference has data on one side."""
    plain = [value for value in op.plain if value.count > 1]
    return len(op.values) == 2 and len(plain) == 1 and not plain[0].values


def _is_scaled(op: Op) -> bool:
    """Whether an operation leaves a difference what it is, up to a scale or another order."""
    divides = op.name == "div" and op.operands[0] is not op.live[0]
    moves = op.name in REARRANGEMENTS and op.output.count == op.live[0].count
    return moves or (op.name in PRODUCTS and not divides)


def _is_even_power(op: Op) -> bool:
    exponent = op.operands[-1]
    return op.name == "pow" and type(exponent) in (int, float) and exponent > 0 and exponent % 2 == 0


def _carried(op: Op, bounded: list[_Bounded], known: Labels[_Label]) -> _Bounded | None:
    """What an operation leaves of the sign."""
    if op.name == "neg":
        return bounded[0].turned(op.location)
    if op.name in REARRANGEMENTS or op.name in JOINS:
        return _agreed(bounded)
    if op.name in _GROWING:
        return None if bounded[0].negated and op.name != "clamp" else bounded[0]
    begins = isinstance(known.get(op.operands[0]), _Bounded)
    if op.name in PRODUCTS:
        return _multiplied(op, bounded) if begins or op.name != "div" else None
    return _summed(op, bounded, begins=begins) if op.name in SUMS else None


def _multiplied(op: Op, bounded: list[_Bounded]) -> _Bounded | None:
    signs = [(each > 0) - (each < 0) for each in op.numbers] + [value.sign for value in op.plain]
    if len(bounded) != 1 or len(signs) != 1 or not signs[0]:
        return None
    return bounded[0] if signs[0] > 0 else bounded[0].turned(op.location)


def _summed(op: Op, bounded: list[_Bounded], *, begins: bool) -> _Bounded | None:
    """Sums of one sign keep it; numbers only shift it, and so do data of a single value."""
    if any(value.count > 1 for value in op.plain):
        return None
    kept = len(bounded) if op.name != "sub" else int(begins)
    return _agreed([*bounded[:kept], *(each.turned(op.location) for each in bounded[kept:])])


def _agreed(bounded: list[_Bounded]) -> _Bounded | None:
    """The common sign, None where there are both."""
    return bounded[0] if len({each.negated for each in bounded}) == 1 else None
