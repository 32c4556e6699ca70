"""The values of a prediction and a target, as far as a loss can be judged by them, read back in one go."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from autograd_doctor.reading.tensor_facts import readable

_MOST_VALUES = 2**22
"""Of one operand: the first rows of larger ones tell as much."""


@dataclass(frozen=True, slots=True)
class Values:
    """Of one operand. Pairs are the smallest and the largest; empty where there is nothing to sum over.

    mirrored, reach: how values lie about a bound, where there is one only (`_about`).
    """

    low: float | None = None
    high: float | None = None
    sums: tuple[float, ...] = ()
    log_sums: tuple[float, ...] = ()
    sums_over: tuple[float, ...] = ()
    binary: bool = False
    outside: float = 0.0
    mirrored: float = 0.0
    reach: float = 0.0


NOTHING = Values()


def values_of(
    tensor: torch.Tensor,
    *,
    class_dim: int | None = None,
    over: int | None = None,
    bounds: tuple[float, float] | None = None,
) -> Values:
    """Range, sums over the dimension of classes and over another one, and the share beyond some bounds."""
    if not readable(tensor) or not tensor.numel():
        return NOTHING
    rows = max(1, _MOST_VALUES * tensor.shape[0] // tensor.numel()) if tensor.dim() else 0
    seen = tensor.detach()[:rows] if tensor.dim() and rows < tensor.shape[0] and over != 0 else tensor.detach()
    if not seen.is_floating_point():
        low, high = torch.stack([seen.amin(), seen.amax()]).tolist()
        return Values(float(low), float(high))
    seen = seen.float()
    found = [seen.amin(), seen.amax(), ((seen == 0) | (seen == 1)).all().float()]
    found += [_share_beyond(seen, bounds), *_about(seen, bounds)] if bounds is not None else [seen.new_zeros(())] * 3
    summed = [dim for dim in (class_dim, over) if dim is not None and dim < seen.dim()]
    for dim in summed:
        found += [*torch.aminmax(seen.sum(dim)), *torch.aminmax(seen.logsumexp(dim))]
    low, high, binary, outside, mirrored, reach, *sums = torch.stack(found).tolist()
    pairs: dict[int | None, tuple[float, ...]] = {None: ()}
    pairs |= {dim: tuple(sums[4 * number : 4 * number + 4]) for number, dim in enumerate(summed)}
    classes, others = pairs.get(class_dim, ()), pairs.get(over, ())
    about = (bool(binary), outside, mirrored, reach)
    return Values(_finite(low), _finite(high), classes[:2], classes[2:], others[:2], *about)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _share_beyond(seen: torch.Tensor, bounds: tuple[float, float]) -> torch.Tensor:
    low, high = bounds
    return ((seen < low) | (seen > high)).float().mean()


def _about(seen: torch.Tensor, bounds: tuple[float, float]) -> tuple[torch.Tensor, torch.Tensor]:
    """How many values lie on the right side of the only bound for each on the wrong one, no further from it than half
    of the latter, and how many times further those on the right side are, in the root of the mean square.

    Zeros where there are two bounds, or none is missed.
    """
    low, high = bounds
    if math.isfinite(low) == math.isfinite(high):
        return seen.new_zeros(()), seen.new_zeros(())
    inwards = seen - low if math.isfinite(low) else high - seen
    missed, reached = inwards < 0, inwards > 0
    depth = torch.where(missed, -inwards, torch.nan).nanmedian()
    near = inwards.abs() <= depth
    mirrored = (near & reached).sum() / (near & missed).sum()
    spread = [(inwards.square() * side).sum() / side.sum() for side in (reached, missed)]
    found = torch.stack([mirrored, (spread[0] / spread[1]).sqrt()]).nan_to_num(0.0, 0.0, 0.0)
    return found[0], found[1]
