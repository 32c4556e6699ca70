"""Gradients that differ from the derivative on purpose, told by the numbers of the forward and the backward alone.

A derivative says nothing where a forward is a step, the identity needs no custom backward, and a function that holds
its input to a bound has a derivative that anybody could have had from `clamp`: who writes a backward for these means
something else than the derivative. That is inferred, so that what is said of it stays below a warning. A unit that is
zero up to a point and rises from there may have been meant so as well, yet is also what a forgotten mask looks like.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from enum import Enum, auto
from functools import partial
from itertools import pairwise

import torch

from autograd_doctor.reading.finite_differences import Case, Slopes, jacobian, near

_INCOMING = (-1.0, 2.0**-20, -(2.0**-20))
"""Gradients that come in beside 1: of the other sign, and small; powers of two, so that dividing by them is exact."""

_REACHES = tuple(2.0**power for power in range(-8, 13))
"""How far from an input to look for the end of its plateau, in units of the largest input: from within the spread of a
batch to the bounds of bytes (255) and beyond."""

_HALVINGS = 40
"""Narrows the end of a plateau down to about the resolution of float64."""

_JUMP = 1e-3
"""The part of a change that happens at one point if the forward jumps there; 1e-12 of it does where it has a kink."""

_MOST_PLATEAUS = 4
"""Each costs about a hundred forwards; those of one output are alike."""

_WALK = tuple(place / 16 - 2 for place in range(65))
"""Where to look for jumps, in units of the largest input; those between the places that differ most are looked for."""
_MOST_JUMPS = 8
STAIRS = 3
"""Jumps of a quantiser; a function that is written in two pieces has one."""

_IDENTITY = "its forward is the identity, its gradient is changed on purpose"
_STEPS = "its forward is piecewise constant"
_BOUNDS = "its forward clamps its input, and its gradient passes beyond the bound"
_BY_SIZE = "it is the derivative for some incoming gradients, and changes others depending on their sign or size"


class _End(Enum):
    """How a plateau of the forward ends: nowhere in reach, in a jump, or in a kink.

    At a BOUND the plateau is not at zero, or there is another one beyond; a GATE lets its input through from there on.
    """

    NONE = auto()
    JUMP = auto()
    BOUND = auto()
    GATE = auto()


def purpose(case: Case, leaves: Sequence[torch.Tensor], slopes: Sequence[Slopes], wrong: Sequence[int]) -> str:
    """Why the gradients of the `wrong` leaves differ from the derivative, "" if nothing shows a purpose."""
    ends = {index: _ends(case, leaves, slopes[index], index) for index in wrong}
    if any(found and found <= {_End.NONE, _End.JUMP} for found in ends.values()):
        return _STEPS
    outputs = case.run(*leaves)
    if all(any(out.shape == leaves[i].shape and torch.equal(out, leaves[i]) for out in outputs) for i in wrong):
        return _IDENTITY
    if len(wrong) == 1 and ends[wrong[0]] and _End.GATE not in ends[wrong[0]]:
        return _BOUNDS
    return _BY_SIZE if all(_right_for_others(case, leaves, slopes[index], index) for index in wrong) else ""


def jumps(case: Case, leaves: Sequence[torch.Tensor], slopes: Sequence[Slopes], wrong: Sequence[int]) -> int:
    """How often the forward jumps, at least, while the element moves that the gradient of an output speaks of most.

    So do quantisers with a scale that they take from the input, through which there is a derivative besides.
    """
    counts = []
    for index in wrong:
        speaking = slopes[index].wrong.any(dim=1) & slopes[index].returned.any(dim=1)
        rows = speaking.nonzero().flatten().tolist()
        for row in rows[:: max(1, len(rows) // _MOST_PLATEAUS)][:_MOST_PLATEAUS]:
            column = int(slopes[index].returned[row].abs().argmax())
            value = partial(_moved, case, leaves, index, column, row)
            counts.append(_jumps_along(value, float(leaves[index].detach().abs().max())))
    return min(counts, default=0)


def _jumps_along(value: Callable[[float], float], unit: float) -> int:
    with contextlib.suppress(Exception):  # it may be defined for some inputs only
        values = [(by * unit, value(by * unit)) for by in _WALK]
        apart = sorted(pairwise(values), key=lambda pair: -abs(pair[1][1] - pair[0][1]))[:_MOST_JUMPS]
        return sum(_breaks(value, *pair) for pair in apart if pair[0][1] != pair[1][1])
    return 0


def _breaks(value: Callable[[float], float], left: tuple[float, float], right: tuple[float, float]) -> bool:
    """Whether some of the change between two places happens at one point."""
    whole = abs(right[1] - left[1])
    for _ in range(_HALVINGS):
        at = (left[0] + right[0]) / 2
        middle = at, value(at)
        is_left = abs(middle[1] - left[1]) >= abs(right[1] - middle[1])
        left, right = (left, middle) if is_left else (middle, right)
    return abs(right[1] - left[1]) > _JUMP * whole


def _right_for_others(case: Case, leaves: Sequence[torch.Tensor], slope: Slopes, index: int) -> bool:
    """Whether every entry is the derivative for one incoming gradient or another."""
    right = ~slope.wrong
    for incoming in _INCOMING:
        right |= near(jacobian(case, leaves, index, incoming), slope.measured)
    return bool(right.all())


# ------------------------------------------------------------------------------------------------------------ plateaus


def _ends(case: Case, leaves: Sequence[torch.Tensor], slope: Slopes, index: int) -> set[_End]:
    """How the plateaus end on which the gradient is wrong; empty if it is wrong beside them as well."""
    if bool((slope.wrong & (slope.measured != 0)).any()):
        return set()
    ends: set[_End] = set()
    for block in slope.blocks:
        flat = not bool(slope.measured[block].any())
        entries = slope.wrong[block].nonzero()
        for row, column in entries[:: max(1, len(entries) // _MOST_PLATEAUS)][:_MOST_PLATEAUS].tolist():
            row += block.start
            end = _end(partial(_moved, case, leaves, index, column, row), _largest(leaves[index]))
            responds_elsewhere = bool(slope.measured[row].any())
            if (end is _End.NONE and not flat) or (end is _End.BOUND and responds_elsewhere):
                return set()
            ends.add(end)
    return ends


def _largest(leaf: torch.Tensor) -> float:
    return max(1.0, float(leaf.detach().abs().max()))


def _moved(case: Case, leaves: Sequence[torch.Tensor], index: int, column: int, row: int, by: float) -> float:
    """One element of the outputs after one element of a leaf has moved."""
    moved = [leaf.detach().clone() for leaf in leaves]
    moved[index].reshape(-1)[column] += by
    return float(case.values(moved)[row])


def _end(value: Callable[[float], float], unit: float) -> _End:
    """How the plateau ends on which `value(0)` lies."""
    here = value(0.0)
    sides = {_side(value, here, [0.0, *(side * reach * unit for reach in _REACHES)]) for side in (1, -1)}
    return next((end for end in (_End.JUMP, _End.GATE, _End.BOUND) if end in sides), _End.NONE)


def _side(value: Callable[[float], float], here: float, ways: Sequence[float]) -> _End:
    last = next(((inside, outside) for inside, outside in pairwise(ways) if value(outside) != here), None)
    if last is None:
        return _End.NONE
    if _jumps(value, here, *last):
        return _End.JUMP
    beyond = value(ways[-1])
    return _End.BOUND if here != 0 or (beyond != here and beyond == value(ways[-2])) else _End.GATE


def _jumps(value: Callable[[float], float], here: float, inside: float, outside: float) -> bool:
    whole = abs(value(outside) - here)
    for _ in range(_HALVINGS):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if value(middle) == here else (inside, middle)
    return abs(value(outside) - here) > _JUMP * whole
