"""Ratios in a loss of what a policy gives to what the same parameters gave in the same step, that are not 1.

Before the first update after a rollout, the ratio of the new probability of an action to the old one is 1. Where it is
not, other things were scored by the same code: another action, another observation, or in another order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import torch

from autograd_doctor.events.connectivity import FirstRatioSeen
from autograd_doctor.events.event import Event
from autograd_doctor.findings import Location
from autograd_doctor.instruments.connectivity.own_ratios import ratio_of
from autograd_doctor.instruments.instrument import Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.loss_query import LossQuery
from autograd_doctor.instruments.spine.tape import Tape
from autograd_doctor.operations import GATHERS, MOVES
from autograd_doctor.reading.live_values import tensor_of
from autograd_doctor.reading.scored_twice import ends_of, scored_twice
from autograd_doctor.reading.tensor_facts import readable
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.tape import Op, Value, behind, numbers_in

_LEAST = 8
"""Numbers of a side."""
_MOST, _MOST_SEARCHED = 2**20, 2**17
_APART = 0.05
_APART_OF_SIZE = 0.02
"""How far logarithms are apart at least, and for each unit of their size: more than 16 bits round off, and batches of
other sizes."""
_ONE_IN = 20
_LEAST_APART = 3
"""Ratios that are so far from 1, of so many each."""
_MOVES = MOVES - GATHERS
"""All but those that pick one of several numbers of a row."""
_ROUNDING = 1e-5
_FOUND = 0.8
"""Of the new numbers, that are among the old ones in other places."""
_BY_CHANCE = 0.3
"""Of other numbers beside them."""


class _Measured(NamedTuple):
    """How many there are, how many of them are not 1, and how far their logarithms are from 0 at most.

    is_elsewhere: the new numbers are among the old ones, in other places.
    """

    ratios: int
    apart: int
    largest: float
    is_elsewhere: bool


class FirstRatios(LossQuery):
    """Reads differences and quotients as they are made, of which one side learns, and asks of those that weigh data.

    Both sides must have been computed in this step, by the same operations with the same parameters, of what these had
    a part in drawing; dropout that is active on both sides says nothing, nor does an input of which it is not known how
    it differs.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (FirstRatioSeen,)

    def __init__(self, site: Site, course: Course, tape: Tape) -> None:
        super().__init__(site, course, tape)
        self._measured: dict[Op, _Measured] = {}
        self._told: set[Location | None] = set()

    def connect(self, signals: Signals) -> None:
        super().connect(signals)
        self.listen(self._tape.recorded, self._compared, names=frozenset({"div", "sub"}))
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.CLOSE)

    def _step_taken(self, course: Course) -> None:
        self._measured.clear()

    def _compared(self, op: Op) -> None:
        if len(op.values) != 2 or len(op.operands) != 2 or op.location in self._told:
            return
        one, other = op.values
        is_pair = one.shape == other.shape and _LEAST <= one.count <= _MOST and one.is_floating and other.is_floating
        if is_pair and one.learns != other.learns and one.values & other.values:
            measured = _measure(op)
            if measured is not None:
                self._measured[op] = measured

    def _ask(self, roots: Sequence[Value], call: BackwardCall) -> None:
        weighing = [op for op in self._measured if op.location not in self._told and ratio_of(op) is not None]
        ways = set(behind(roots, live=False)) if weighing else set()
        for op in weighing:
            event = self._cause_of(op) if op in ways else None
            if event is not None and op.location not in self._told:
                self._told.add(op.location)
                self.emit(event)

    def _cause_of(self, op: Op) -> FirstRatioSeen | None:
        (now,), (before,) = op.live, op.plain
        measured, scored = self._measured[op], scored_twice(now, before)
        if scored is None or not scored.is_of_own_draws():
            return None
        reason = scored.reason(is_elsewhere=measured.is_elsewhere)
        if reason is None:
            return None
        old = ends_of(before)[0].by
        return FirstRatioSeen(
            step=self._course.steps,
            location=op.location,
            reference_at=old.location if old is not None else None,
            parameters=sorted({number for each in scored.parameters for number in numbers_in(each.values)}),
            ratios=measured.ratios,
            apart=measured.apart,
            largest=measured.largest,
            differs=reason.what,
            operation=reason.by.name if reason.by is not None else "",
            operation_at=reason.by.location if reason.by is not None else None,
        )


def _measure(op: Op) -> _Measured | None:
    """None where hardly a ratio is another one than 1, or the numbers cannot be read."""
    sides = [tensor_of(side) for side in op.values]
    tensors = [side.detach().float().flatten() for side in sides if side is not None and readable(side)]
    if len(tensors) != 2:
        return None
    one, other = (side.log() for side in tensors) if op.name == "div" else tensors
    apart = (one - other).abs()
    far = apart[apart.isfinite() & (apart > _APART + _APART_OF_SIZE * other.abs())]
    if len(far) < _LEAST_APART or len(far) * _ONE_IN <= len(apart):
        return None
    new, old = tensors if op.values[0].learns else tensors[::-1]
    return _Measured(len(apart), len(far), float(far.max()), _is_elsewhere(new, _whole(op.plain[0]), old))


def _whole(value: Value) -> torch.Tensor | None:
    """The largest tensor that still holds what a value was picked from."""
    largest = tensor_of(value)
    while value.by is not None and value.by.name in _MOVES:
        value = value.by.values[0]
        tensor = tensor_of(value)
        if tensor is not None and (largest is None or tensor.numel() > largest.numel()):
            largest = tensor
    return largest if largest is not None and largest.numel() <= _MOST_SEARCHED and readable(largest) else None


def _is_elsewhere(new: torch.Tensor, whole: torch.Tensor | None, old: torch.Tensor) -> bool:
    """Whether numbers are among others, though not where they should be, and more often than by chance."""
    if len(new) > _MOST_SEARCHED:
        return False
    among = (whole.detach().float().flatten() if whole is not None else old).sort().values
    return _share(new, among) >= _FOUND and _share(new + 50 * _rounding(new), among) <= _BY_CHANCE


def _share(numbers: torch.Tensor, among: torch.Tensor) -> float:
    after = torch.searchsorted(among, numbers).clamp(1, max(len(among) - 1, 1))
    nearest = torch.minimum(
        (numbers - among[after - 1]).abs(), (numbers - among[after.clamp(max=len(among) - 1)]).abs()
    )
    return float((nearest <= _rounding(numbers)).float().mean())


def _rounding(numbers: torch.Tensor) -> torch.Tensor:
    return _ROUNDING * (1 + numbers.abs())
