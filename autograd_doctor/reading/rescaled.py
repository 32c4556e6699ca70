"""Values that were only made longer or shorter, by a factor to which a loss is blind."""

from __future__ import annotations

import math

import torch

from autograd_doctor.reading.tensor_facts import readable

_ALIKE = 1e-5
_BLIND = 1e-3
"""The part of a gradient that may lie along the values: rounding, and the small numbers that keep norms from zero. Of
gradients at random it is that small only where more than a million numbers have one norm."""

_ASIDE = 0.01
"""The part of a square that is next to nothing: of a change, what lies aside of a direction, for rounding."""


def is_only_rescaled(before: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """Whether rows, columns or the whole of a parameter point where they did, and its gradient is orthogonal to them.

    So it is where the loss is computed of normalised weights (Euler): then no factor takes anything that was learned.
    The answer is left where the tensors are.
    """
    slope = values.grad
    if slope is None or not readable(slope) or slope.shape != values.shape:
        return torch.zeros((), dtype=torch.bool, device=values.device)
    after, given, slope = values.detach().float(), before.float(), slope.detach().float()
    ways = _ways(values)
    return torch.stack([_is_along(given, after, way) & _is_blind(after, slope, way) for way in ways]).any()


def keeps_directions(before: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """Whether rows, columns or the whole of a parameter, of several values each, were changed along what they were, and
    something is left of them."""
    given, after = before.double(), values.detach().double()
    change, is_left = after - given, after.square().sum() > _ASIDE * given.square().sum()
    ways = [way for way in _ways(values) if math.prod(values.shape[each] for each in way) > 1]
    found = [_aside(given, change, way) <= _ASIDE * change.square().sum() for way in ways]
    return torch.stack([torch.zeros_like(is_left), *found]).any() & is_left


def _aside(values: torch.Tensor, change: torch.Tensor, dims: tuple[int, ...]) -> torch.Tensor:
    """The square of what a change has beside the direction of the values."""
    along = (values * change).sum(dims).square() / values.square().sum(dims)
    return (change.square().sum(dims) - along.nan_to_num()).sum()


def _ways(values: torch.Tensor) -> list[tuple[int, ...]]:
    dims = range(values.dim())
    return sorted({tuple(dims), *(tuple(each for each in dims if each != kept) for kept in dims[:2]), tuple(dims[-1:])})


def _is_along(before: torch.Tensor, after: torch.Tensor, dims: tuple[int, ...]) -> torch.Tensor:
    """By one factor for each of the others of these dimensions."""
    length, length_before = (each.square().sum(dims).sqrt() for each in (after, before))
    is_apart = (before * after).sum(dims) < (1 - _ALIKE) * length * length_before
    is_gone = (length == 0) & (length_before > 0)
    return ~(is_apart | is_gone).any()


def _is_blind(values: torch.Tensor, slope: torch.Tensor, dims: tuple[int, ...]) -> torch.Tensor:
    length, steepness = (each.square().sum(dims).sqrt() for each in (values, slope))
    return (slope * values).sum(dims).abs().sum() <= _BLIND * (steepness * length).sum()
