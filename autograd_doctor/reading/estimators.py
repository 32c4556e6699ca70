"""Gradients that stand in for the derivative: what they do shows that they were never meant to be it.

They are drawn at random, grow out of proportion to what comes in, depend on an argument that the forward leaves alone,
are held to a bound, leave out what is small, smooth the bends of the forward, come close everywhere and are exact
nowhere, are the derivative times a symmetric positive definite matrix, or are means over the samples that share a row
of a table, of which the derivative is the sum.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace
from itertools import starmap
from typing import Any

import torch

from autograd_doctor.reading.finite_differences import Case, Slopes, jacobian, near, paired, slopes
from autograd_doctor.reading.slips import factor_of

_INCOMING = (1.375, 2.0**10, 2.0**-20)
"""Gradients that come in beside 1. The first is no power of two: rounding to fewer digits commutes with those."""

_CEILING = 2.0
"""How much larger than at 1, in proportion, a gradient may be where a large one comes in: rounding may have lost it."""

_CLOSE = 0.1
"""The part of the derivative of an output by which all of its gradient may be off: eight bits, or an inner solve."""

_BOUND = 1e-3
_VARIED = 0.05
"""How nearly equal slopes are that are held to a bound, and how far one is from it that is not."""

_STRETCHED, _FAR = 1.25, 2.0**16
_STRAIGHT = 0.75
"""Of a forward of straight pieces, most slopes stay as they are when inputs are stretched by a quarter; stretched by
the larger number, all inputs lie far from where the pieces meet; negated, on the other side of it."""

_RANDOM = "its gradient is random"
_DISPROPORTIONATE = "its gradient is not proportional to the incoming gradient"
_STEERED = "its gradient depends on an argument that its forward does not use"
_HELD = "it is the derivative, clamped"
_SPARSE = "it is the derivative without small values"
_SMOOTHED = "its forward is piecewise linear, and its gradient smooths the kinks"
_NEARLY = "it is the derivative to within a few percent"
_AVERAGED = "it is the mean over the samples that select a row, where the derivative is their sum"

_PRECONDITIONED = "it is the derivative, preconditioned by a symmetric positive definite matrix"

_SOLVED, _DEFINITE = 1e-6, 1e-9
"""The parts by which a preconditioned gradient may be off, and a product with it be less than zero."""

_FEWEST_ELEMENTS = 8

_FEWEST_CHOICES = 3
"""Two rows that are chosen differently often."""


def estimated(case: Case, leaves: Sequence[torch.Tensor], found: Sequence[Slopes], wrong: Sequence[int]) -> str:
    """How the gradients of the `wrong` leaves stand in for the derivative, "" if that does not show."""
    slopes_of = [found[index] for index in wrong]
    returned = [_returned(case, leaves, found[index], index, 1.0) for index in wrong]
    if not all(_alike(each, slope.returned) for each, slope in zip(returned, slopes_of, strict=True)):
        return _RANDOM
    if all(_is_disproportionate(case, leaves, found[index], index) for index in wrong):
        return _DISPROPORTIONATE
    if any(_is_steered(case, leaves, slopes_of, wrong, position) for position in range(len(case.arguments))):
        return _STEERED
    if all(map(_is_held, slopes_of)):
        return _HELD
    if all(map(_is_sparse, slopes_of)):
        return _SPARSE
    if _smooths(case, leaves, slopes_of, wrong):
        return _SMOOTHED
    if _is_averaged(case, leaves, wrong):
        return _AVERAGED
    if all(map(_is_close, slopes_of)):
        return _NEARLY
    is_scaled = all(_is_preconditioned(slope) or factor_of(slope) > 0 for slope in slopes_of)
    return _PRECONDITIONED if is_scaled and any(map(_is_preconditioned, slopes_of)) else ""


def _returned(case: Case, leaves: Sequence[torch.Tensor], slope: Slopes, index: int, incoming: float) -> torch.Tensor:
    """What backward returns now, to be laid beside `slope`."""
    rows = jacobian(case, leaves, index, incoming)
    return paired(rows, leaves[index]) if slope.in_pairs else rows


def _alike(left: torch.Tensor, right: torch.Tensor) -> bool:
    return bool(near(left, right).all())


def _is_disproportionate(case: Case, leaves: Sequence[torch.Tensor], slope: Slopes, index: int) -> bool:
    """Unless it is not zero for nothing, grows faster, or grows so while gradients are small and is wrong there."""
    if bool(_returned(case, leaves, slope, index, 0.0).isinf().any()):  # per unit of nothing
        return False
    others = [_returned(case, leaves, slope, index, incoming) for incoming in _INCOMING]
    if all(_alike(other, slope.returned) for other in others):
        return False
    largest = float(torch.maximum(slope.returned.abs(), slope.measured.abs()).max())
    small, smaller = others[-1], _returned(case, leaves, slope, index, _INCOMING[-1] / _INCOMING[0])
    grows = float(others[1].abs().max()) > _CEILING * largest
    return not grows and (not _alike(small, smaller) or not bool(small.any()))


def _is_steered(
    case: Case, leaves: Sequence[torch.Tensor], found: Sequence[Slopes], wrong: Sequence[int], position: int
) -> bool:
    """Whether another value of an argument leaves the forward as it is, and changes all gradients that are wrong."""
    other = _another(case.arguments[position])
    if other is None or position in case.wanted:
        return False
    changed = replace(case, arguments=(*case.arguments[:position], other, *case.arguments[position + 1 :]))
    with contextlib.suppress(Exception):  # a value may be refused
        return torch.equal(changed.values(leaves), case.values(leaves)) and not any(
            _alike(_returned(changed, leaves, slope, index, 1.0), slope.returned)
            for index, slope in zip(wrong, found, strict=True)
        )
    return False


def _another(argument: Any) -> Any:
    is_number = type(argument) is float or (isinstance(argument, torch.Tensor) and argument.is_floating_point())
    return 1.5 * argument + 0.25 if is_number else None


def _is_held(slope: Slopes) -> bool:
    """Whether all that is wrong has one size, which the derivative passes there and nowhere else, and its sign."""
    if bool((slope.returned * slope.measured)[slope.wrong].lt(0).any()):
        return False
    returned, measured = slope.returned.abs(), slope.measured.abs()
    bound = returned[slope.wrong]
    level = float(bound.mean())
    if level == 0 or bool(((bound - level).abs() > _BOUND * level).any()):
        return False
    within = measured[slope.reliable & ~slope.wrong & (measured != 0)]
    if not bool(((within - level).abs() > _VARIED * level).any()):
        return False
    above, below = measured[slope.wrong] > level, within <= level * (1 + _VARIED)
    under, over = measured[slope.wrong] < level, within >= level * (1 - _VARIED)
    return bool((above.all() and below.all()) or (under.all() and over.all()))


def _is_sparse(slope: Slopes) -> bool:
    """Whether what is wrong is left out, of many sizes, and smaller than all that is kept: the largest are chosen.

    Not of functions that work element by element: there, a branch that was forgotten may be the shallower one.
    """
    is_by_element = not bool(((slope.measured != 0).sum(dim=1) > 1).any())
    if is_by_element or bool(slope.returned[slope.wrong].any()):
        return False
    left_out = slope.measured[slope.wrong].abs()
    kept = slope.measured[slope.reliable & ~slope.wrong & (slope.returned != 0)].abs()
    return all(map(_is_varied, (left_out, kept))) and float(left_out.max()) <= float(kept.min())


def _is_varied(sizes: torch.Tensor) -> bool:
    return sizes.numel() > 1 and float(sizes.max()) > (1 + _VARIED) * float(sizes.min())


def _smooths(case: Case, leaves: Sequence[torch.Tensor], found: Sequence[Slopes], wrong: Sequence[int]) -> bool:
    def stretched(by: float) -> list[Slopes]:
        moved = [leaf.detach() * (by if i in wrong else 1) for i, leaf in enumerate(leaves)]
        return [slopes(case, [leaf.requires_grad_() for leaf in moved], index) for index in wrong]

    is_straight = all(starmap(_keeps_most, zip(found, stretched(_STRETCHED), strict=True)))
    far = [pair for by in (_FAR, -_FAR) for pair in zip(found, stretched(by), strict=True)] if is_straight else []
    return is_straight and not any(starmap(_is_off, far))


def _is_off(near_by: Slopes, far: Slopes) -> bool:
    """Whether slopes far from the kinks are wrong; those of smooth functions fall to nearly 0 there."""
    off = (far.returned - far.measured).abs()
    return bool((far.wrong & (off > _BOUND * near_by.measured.abs().max())).any())


def _keeps_most(before: Slopes, after: Slopes) -> bool:
    counting = before.reliable & after.reliable & (before.measured != 0)
    kept = counting & near(before.measured, after.measured)
    return bool(counting.any()) and int(kept.sum()) >= _STRAIGHT * int(counting.sum())


def _is_averaged(case: Case, leaves: Sequence[torch.Tensor], wrong: Sequence[int]) -> bool:
    """Whether the gradient of each row is the derivative over how often an argument chooses it, or that and one more.

    So are the centres of a centre loss moved. The argument is given other values, of which one row gets all but one.
    """
    for position, choices in enumerate(case.arguments):
        if not _chooses(choices):
            continue
        other = torch.zeros_like(choices)
        other.reshape(-1)[-1] = 1
        changed = replace(case, arguments=(*case.arguments[:position], other, *case.arguments[position + 1 :]))
        with contextlib.suppress(Exception):  # values may be refused
            if all(_is_over_counts(slopes(changed, leaves, index), leaves[index].shape, other) for index in wrong):
                return True
    return False


def _chooses(argument: Any) -> bool:
    return (
        isinstance(argument, torch.Tensor)
        and argument.dtype in (torch.int32, torch.int64)
        and argument.numel() >= _FEWEST_CHOICES
    )


def _is_over_counts(slope: Slopes, shape: torch.Size, choices: torch.Tensor) -> bool:
    if len(shape) < 1 or shape[0] < 2:
        return False
    counts = choices.reshape(-1).long().bincount(minlength=shape[0]).to(slope.returned.dtype)
    by_element = counts.repeat_interleave(shape[1:].numel())
    summed = (replace(slope, returned=slope.returned * (by_element + more)) for more in (0, 1))
    return any(factor_of(each) > 0 for each in summed)


def _is_close(slope: Slopes) -> bool:
    """Not where one factor explains it: the wrong number is seldom far from the right one."""
    off, derivative = ((slope.returned - slope.measured) * slope.reliable), slope.measured * slope.reliable
    if factor_of(slope):
        return False
    return bool((off.norm(dim=1) <= _CLOSE * derivative.norm(dim=1)).all()) or _is_close_by_element(off, derivative)


def _is_close_by_element(off: torch.Tensor, derivative: torch.Tensor) -> bool:
    """Beside the largest slope, of functions that work element by element: there are some of almost none."""
    is_by_element = not bool(((derivative != 0).sum(dim=1) > 1).any())
    is_varied = int((derivative.any(dim=1)).sum()) >= _FEWEST_ELEMENTS
    return is_by_element and is_varied and bool(off.abs().max() <= _CLOSE * derivative.abs().max())


def _is_preconditioned(slope: Slopes) -> bool:
    """Whether the gradient is that of the derivative through such a matrix, the same for all outputs.

    Not of one that scales each element by itself, as a chain factor would that was forgotten.
    """
    if not bool(slope.reliable.all()) or len(slope.measured) < 2:
        return False
    returned, measured = slope.returned, slope.measured
    product = returned @ measured.T
    size = float(product.abs().max())
    is_mixed = bool((product - product.diag().diag()).abs().max() > _VARIED * size)
    is_symmetric = bool((product - product.T).abs().max() <= _SOLVED * size)
    if not (is_mixed and is_symmetric and _is_definite(product, measured)):
        return False
    solved = measured @ (torch.linalg.pinv(measured, rtol=_SOLVED) @ returned)
    by_element = measured * (returned * measured).sum(0) / (measured**2).sum(0)
    room = returned.norm()
    return bool((solved - returned).norm() <= _SOLVED * room and (by_element - returned).norm() > _VARIED * room)


def _is_definite(product: torch.Tensor, measured: torch.Tensor) -> bool:
    """Whether the matrix between loses no direction that the derivative has."""
    values = torch.linalg.eigvalsh(product)
    rank = int(torch.linalg.matrix_rank(measured, rtol=_SOLVED))
    return bool(values.min() >= -_DEFINITE * values.max()) and int((values > _SOLVED * values.max()).sum()) == rank
