"""Losses that are never below zero, or the negative of one that is not, up to constants and positive weights.

These are loss functions of torch, and sizes of differences between predictions and data. Other sizes may well be
maximised, as the spread of a projection is. The sign is that of the term that sees data: what is computed of parameters
alone, as a penalty on weights, may be added to it.

Some cannot grow for ever: the distance of unit vectors from others or from data, that of two predictions that are both
squashed, and what is kept below a number. A squashed prediction of data is an ordinary regression.
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
from autograd_doctor.operations import JOINS, MOVES, NEVER_NEGATIVE, NORMS, PRODUCTS, REARRANGEMENTS, REGRESSION, SUMS
from autograd_doctor.reading.places import here
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.tape import Labels, Op, Value, labels_behind, way_from

_SIZES = frozenset({"abs", "norm", "square"})
_GROWING = frozenset({"clamp", "clamp_min", "log1p", "sqrt"})
_SQUASHES = frozenset({"cos", "sigmoid", "sin", "softmax", "softsign", "tanh"})
_MOST_PLACES = 16


class _Bounded(NamedTuple):
    """A tensor that is something never below zero, or its negative, up to a constant; where its sign was changed.

    limited: it cannot grow for ever. values: the parameters, as bits, of the part of it that has the fewest of those
    that can.
    """

    negated: bool
    operation: str
    location: Location | None
    negated_at: Location | None = None
    limited: bool = False
    values: int = 0

    def turned(self, location: Location | None) -> _Bounded:
        return self._replace(negated=not self.negated, negated_at=location)


class _Before(Enum):
    """What a loss is made of: differences of predictions and of unit vectors from data, log-probabilities of classes,
    parameters alone, vectors of length 1, and what a squashing function gives."""

    RESIDUAL = auto()
    CHORD = auto()
    LOG_PROBABILITIES = auto()
    PENALTY = auto()
    UNIT = auto()
    SQUASHED = auto()


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
                limited=known.limited,
                alone=not known.values & ~root.connected,
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
    first = before[0] if before else None
    if op.name == "log_softmax" or (op.name in REARRANGEMENTS and first is _Before.LOG_PROBABILITIES):
        return _Before.LOG_PROBABILITIES
    of_classes = op.name == "nll_loss" and first is _Before.LOG_PROBABILITIES
    if op.name in NEVER_NEGATIVE or of_classes:
        limited = op.name in REGRESSION and _are_confined(before)
        return _Bounded(False, op.name, op.location, limited=limited, values=op.output.values)
    if first in (_Before.RESIDUAL, _Before.CHORD) and (op.name in _SIZES or _is_even_power(op)):
        return _Bounded(False, op.called, op.location, limited=first is _Before.CHORD, values=op.output.values)
    bounded = [each for each in before if isinstance(each, _Bounded)]
    if bounded and len(bounded) + before.count(_Before.PENALTY) == len(before):
        return _carried(op, bounded, known)
    return _confined(op, before) or _residual(op, before) or (_Before.PENALTY if _is_penalty(op, known) else None)


def _are_confined(before: Sequence[_Label | None]) -> bool:
    """Whether none of the predictions can leave a limited space; a single one that is squashed may be of data."""
    squashed = before.count(_Before.SQUASHED)
    return before.count(_Before.UNIT) + squashed == len(before) and squashed != 1


def _confined(op: Op, before: Sequence[_Label | None]) -> _Label | None:
    """What is made unit vectors or squashed, and what is moved of it."""
    first = before[0] if before and set(before) == {before[0]} else None
    if first in (_Before.UNIT, _Before.SQUASHED) and (op.name in MOVES or op.name in JOINS):
        return first
    if op.name == "normalize" or _is_divided_by_its_norm(op):
        return _Before.UNIT
    return _Before.SQUASHED if op.name in _SQUASHES else None


def _is_divided_by_its_norm(op: Op) -> bool:
    if op.name != "div" or len(op.values) != 2:
        return False
    whole, length = op.values
    return any((way := way_from(length, name)) and way[0].operands[0] is whole for name in NORMS)


def _residual(op: Op, before: Sequence[_Label | None]) -> _Label | None:
    if op.name == "sub" and _is_residual(op):
        return _Before.CHORD if before[0] is _Before.UNIT else _Before.RESIDUAL
    kept = len(before) == 1 and before[0] in (_Before.RESIDUAL, _Before.CHORD) and _is_scaled(op)
    return before[0] if kept else None


def _is_penalty(op: Op, known: Labels[_Label]) -> bool:
    """Whether an operation takes parameters, or what was made of them alone, and no data."""
    alone = all(known.get(value) is _Before.PENALTY for value in op.live)
    return alone and all(value.is_parameter or value.count == 1 for value in op.plain)


def _is_residual(op: Op) -> bool:
    """Whether a difference has data on one side, and what was computed of parameters on the other."""
    sides = len(op.live), len(op.plain)
    return sides == (1, 1) and op.plain[0].count > 1 and not op.plain[0].values


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
        return _grown(op, bounded[0])
    begins = isinstance(known.get(op.operands[0]), _Bounded)
    if op.name in PRODUCTS:
        return _multiplied(op, bounded) if begins or op.name != "div" else None
    return _summed(op, bounded, begins=begins) if op.name in SUMS else None


def _grown(op: Op, bounded: _Bounded) -> _Bounded | None:
    if op.name != "clamp":
        return None if bounded.negated else bounded
    is_by_tensors = len(op.operands) > 1
    bound = op.options.get("min" if bounded.negated else "max")
    return bounded._replace(limited=bounded.limited or bound is not None or is_by_tensors)


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
    if len({each.negated for each in bounded}) != 1:
        return None
    free = [each.values for each in bounded if not each.limited]
    return bounded[0]._replace(limited=not free, values=min(free, key=int.bit_count, default=bounded[0].values))
