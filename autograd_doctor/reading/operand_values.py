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
    """Of one operand. Pairs are the smallest and the largest; empty where there is nothing to sum over."""

    low: float | None = None
    high: float | None = None
    sums: tuple[float, ...] = ()
    log_sums: tuple[float, ...] = ()
    sums_over: tuple[float, ...] = ()
    binary: bool = False
    outside: float = 0.0


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
    found.append(_share_beyond(seen, bounds) if bounds is not None else seen.new_zeros(()))
    summed = [dim for dim in (class_dim, over) if dim is not None and dim < seen.dim()]
    for dim in summed:
        found += [*torch.aminmax(seen.sum(dim)), *torch.aminmax(seen.logsumexp(dim))]
    low, high, binary, outside, *sums = torch.stack(found).tolist()
    pairs: dict[int | None, tuple[float, ...]] = {None: ()}
    pairs |= {dim: tuple(sums[4 * number : 4 * number + 4]) for number, dim in enumerate(summed)}
    classes, others = pairs.get(class_dim, ()), pairs.get(over, ())
    return Values(_finite(low), _finite(high), classes[:2], classes[2:], others[:2], bool(binary), outside)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _share_beyond(seen: torch.Tensor, bounds: tuple[float, float]) -> torch.Tensor:
    low, high = bounds
    return ((seen < low) | (seen > high)).float().mean()
