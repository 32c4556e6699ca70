"""Values that were only made longer or shorter, by a factor to which a loss is blind."""

from __future__ import annotations

import torch

from autograd_doctor.reading.tensor_facts import readable

_ALIKE = 1e-5
_BLIND = 1e-3
"""The part of a gradient that may lie along the values: rounding, and the small numbers that keep norms from zero. Of
gradients at random it is that small only where more than a million numbers have one norm."""


def is_only_rescaled(before: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """Whether rows, columns or the whole of a parameter point where they did, and its gradient is orthogonal to them.

    So it is where the loss is computed of normalised weights (Euler): then no factor takes anything that was learned.
    The answer is left where the tensors are.
    """
    slope = values.grad
    if slope is None or not readable(slope) or slope.shape != values.shape:
        return torch.zeros((), dtype=torch.bool, device=values.device)
    after, given, slope = values.detach().float(), before.float(), slope.detach().float()
    dims = range(values.dim())
    ways = {tuple(dims), *(tuple(each for each in dims if each != kept) for kept in dims[:2]), tuple(dims[-1:])}
    return torch.stack([_is_along(given, after, slope, way) for way in sorted(ways)]).any()


def _is_along(before: torch.Tensor, after: torch.Tensor, slope: torch.Tensor, dims: tuple[int, ...]) -> torch.Tensor:
    """By one factor for each of the others of these dimensions."""
    length, length_before, steepness = (each.square().sum(dims).sqrt() for each in (after, before, slope))
    is_apart = (before * after).sum(dims) < (1 - _ALIKE) * length * length_before
    along = (slope * after).sum(dims).abs().sum()
    return torch.logical_and(~is_apart.any(), along <= _BLIND * (steepness * length).sum())
