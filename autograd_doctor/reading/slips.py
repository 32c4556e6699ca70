"""What shows that a gradient is a mistake: it is related to the derivative as only a slip relates them.

One factor or one for each output or element (a chain factor forgotten), the place of another input's gradient, a
transposition, nothing where there is a slope, or the derivative for some elements and something else for others.
Gradients that merely differ may be estimators.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from autograd_doctor.reading.finite_differences import Slopes, near

_NEGLIGIBLE = 1e-3
"""Entries below this part of the largest tell nothing of a relation."""

_CONFINED = 0.25
"""The part of the entries that has to be right, to the precision of the quotients, for the others to stand out."""

_TURNED = 0.05
"""An element that points the other way counts from this part of the largest on: beside a zero of the derivative, any
approximation of it changes its sign."""


def slip(shapes: Sequence[torch.Size], slopes: Sequence[Slopes], wrong: Sequence[int], wanted: Sequence[int]) -> str:
    """What went wrong, "" if nothing shows a mistake; `shapes` are those of the inputs that `wanted` numbers."""
    if found := _swapped(slopes, wrong, wanted):
        return found
    for index in wrong:
        if found := _mistake(slopes[index], shapes[index]):
            return found if len(slopes) == 1 else f"for input {wanted[index] + 1}, {found}"
    together = _together([slopes[index] for index in wrong])
    if _scaled_by_row(together):
        return "it is the derivative times a different factor for each element of the output"
    if any(_scaled_by_row(_turned_over(slopes[index])) for index in wrong):
        return "it is the derivative times a different factor for each element of the input"
    return ""


def _mistake(slope: Slopes, shape: torch.Size) -> str:
    """What is wrong with the gradient of one input."""
    if not bool(slope.returned.any()):
        return "it is zero where the derivative is not"
    if factor := factor_of(slope):
        return f"all of it is {factor:.4g} times the derivative"
    if _is_transposed(slope, shape):
        return "it is the derivative transposed"
    if _is_confined(slope):
        return "it is the derivative only for some elements"
    return "it has the wrong sign for some elements" if _is_turned(slope) else ""


def _swapped(slopes: Sequence[Slopes], wrong: Sequence[int], wanted: Sequence[int]) -> str:
    for left in wrong:
        for right in wrong:
            fits = left < right and slopes[left].returned.shape == slopes[right].measured.shape
            if fits and _agree(slopes[left], slopes[right]) and _agree(slopes[right], slopes[left]):
                return f"the gradients of inputs {wanted[left] + 1} and {wanted[right] + 1} are swapped"
    return ""


def _agree(returned: Slopes, measured: Slopes) -> bool:
    return bool(near(returned.returned, measured.measured)[measured.reliable].all())


def factor_of(slope: Slopes) -> float:
    """The factor by which all of the gradient is off, 0 if there is none."""
    size = float((slope.measured**2 * slope.reliable).sum())
    factor = float((slope.returned * slope.measured * slope.reliable).sum()) / size if size else 0.0
    return factor if bool(near(slope.returned, factor * slope.measured)[slope.reliable].all()) else 0.0


def _is_transposed(slope: Slopes, shape: torch.Size) -> bool:
    """As a map, or in the order in which it lies: the gradient of a square matrix, transposed."""
    returned, measured, reliable = slope.returned, slope.measured, slope.reliable
    is_square = returned.shape[0] == returned.shape[1]
    if is_square and bool(near(returned, measured.T)[reliable & reliable.T].all()):
        return True
    if len(shape) < 2 or shape[-1] != shape[-2]:
        return False
    over, over_reliable = (each.reshape(-1, *shape).mT.reshape(returned.shape) for each in (measured, reliable))
    return bool(near(returned, over)[reliable & over_reliable].all())


def _is_confined(slope: Slopes) -> bool:
    counting = _counting(slope) & slope.reliable
    right = counting & ~slope.wrong
    return int(right.sum()) >= _CONFINED * int(counting.sum())


def _is_turned(slope: Slopes) -> bool:
    """Of functions that work element by element: those of others may well give and take in detail."""
    if bool((_counting(slope).sum(dim=1) > 1).any()):
        return False
    counting = slope.reliable & (slope.measured.abs() > _TURNED * slope.measured.abs().max())
    turned = slope.returned * slope.measured < 0
    return bool((turned & counting & slope.wrong).any()) and bool((~turned & counting).any())


def _scaled_by_row(slope: Slopes) -> bool:
    """Whether each row is off by a factor of its own, in rows of which that says something."""
    counting = _counting(slope) & slope.reliable
    if not bool((counting.sum(dim=1) > 1)[counting.any(dim=1)].all()):
        return False
    measured = slope.measured * slope.reliable
    sizes = (measured**2).sum(dim=1, keepdim=True)
    factors = (slope.returned * measured).sum(dim=1, keepdim=True) / sizes.clamp(min=torch.finfo(sizes.dtype).tiny)
    return bool(near(slope.returned, factors * slope.measured)[slope.reliable].all())


def _counting(slope: Slopes) -> torch.Tensor:
    size = torch.maximum(slope.returned.abs(), slope.measured.abs())
    return size > _NEGLIGIBLE * size.max()


def _together(slopes: Sequence[Slopes]) -> Slopes:
    """The gradients of several inputs beside each other."""
    returned, measured, reliable = (
        torch.cat([getattr(slope, name) for slope in slopes], dim=1) for name in ("returned", "measured", "reliable")
    )
    return Slopes(returned, measured, reliable, slopes[0].blocks)


def _turned_over(slope: Slopes) -> Slopes:
    return Slopes(slope.returned.T, slope.measured.T, slope.reliable.T, slope.blocks)
