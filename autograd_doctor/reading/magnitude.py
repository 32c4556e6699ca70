"""How large numbers are, feature by feature where they lie in columns, and from where to where they go."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from autograd_doctor.reading.tensor_facts import readable

_MOST_ROWS = 256
_MOST_FEATURES = 256
_MOST_VALUES = 4096
"""Of what has no columns."""
_TELLING = 0.75
"""A quarter of the features are enough: flags and the like are as large whether they are scaled or not."""


@dataclass(frozen=True)
class Magnitude:
    """median, largest: of the absolute values, of shape (features,), or (1,) for what is no table. count: of values."""

    median: torch.Tensor
    largest: torch.Tensor
    count: int

    def is_like(self, other: Magnitude) -> bool:
        """Whether both are of as many features."""
        return self.median.shape == other.median.shape

    def joined(self, other: Magnitude) -> Magnitude:
        """The smallest median, and the largest of all."""
        median, largest = torch.minimum(self.median, other.median), torch.maximum(self.largest, other.largest)
        return Magnitude(median, largest, self.count + other.count)

    def times_above(self, other: Magnitude) -> float:
        """By how much the medians are above the largest of the other, in a quarter of the features at least."""
        return _upper(self.median, other.largest)

    def times_below(self, other: Magnitude) -> float:
        """By how much the largest are below the medians of the other, in a quarter of the features at least.

        One that is the same everywhere, as a speed from rest is, has no scale.
        """
        varies = self.largest > self.median
        return _upper(other.median.where(varies, torch.zeros_like(other.median)), self.largest)

    @property
    def typical_median(self) -> float:
        return float(self.median.median())

    @property
    def typical_largest(self) -> float:
        return float(self.largest.median())


def _upper(large: torch.Tensor, small: torch.Tensor) -> float:
    """Features that are zero on the one side, as padding is, tell nothing."""
    both = (large > 0) & (small > 0)
    ratios = torch.where(both, large / small.where(both, torch.ones_like(small)), torch.zeros_like(large))
    return float(ratios.quantile(_TELLING))


def some_of(tensor: torch.Tensor) -> torch.Tensor | None:
    """Some of its rows and features, left where they lie; None where they cannot be read."""
    if not readable(tensor) or not tensor.numel():
        return None
    if tensor.dim() == 2:
        rows, features = tensor.shape
        values = tensor[:: -(-rows // _MOST_ROWS), :: -(-features // _MOST_FEATURES)]
    else:
        flat = tensor.reshape(-1)
        values = flat[:: -(-len(flat) // _MOST_VALUES)].unsqueeze(1)
    return values.detach()


def magnitude_of(some: torch.Tensor) -> Magnitude | None:
    """some: values of a tensor, on the CPU. None where one of them is not finite."""
    values = some.double().abs()
    if not bool(torch.isfinite(values).all()):
        return None
    return Magnitude(values.median(dim=0).values, values.amax(dim=0), len(values))


@dataclass(frozen=True)
class Reach:
    """From where to where numbers go, feature by feature: all, nine of ten, and the middle half. Each is of shape
    (2, features)."""

    whole: torch.Tensor
    most: torch.Tensor
    half: torch.Tensor

    def joined(self, other: Reach) -> Reach:
        """As far as either goes."""
        pairs = ((self.whole, other.whole), (self.most, other.most), (self.half, other.half))
        return Reach(*(torch.stack([torch.minimum(a[0], b[0]), torch.maximum(a[1], b[1])]) for a, b in pairs))

    def leaves(self, other: Reach) -> bool:
        """Whether a quarter of the numbers lie beyond all of the other, or three quarters beyond nearly all of it, in a
        quarter of the features."""
        nearly_all = (self.half[1] < other.most[0]) | (self.half[0] > other.most[1])
        return float((_beyond(self.half, other.whole) | nearly_all).double().mean()) >= 1 - _TELLING

    def keeps_within(self, other: Reach) -> bool:
        """Whether nearly all of the numbers lie among those of the other, in as many of the features."""
        return float((~_beyond(self.most, other.whole)).double().mean()) >= _TELLING


def _beyond(some: torch.Tensor, whole: torch.Tensor) -> torch.Tensor:
    return (some[0] < whole[0]) | (some[1] > whole[1])


def reach_of(some: torch.Tensor) -> Reach:
    """some: finite values of a tensor, on the CPU."""
    values = some.double()
    shares = torch.tensor([0.0, 1.0, 0.05, 0.95, 0.25, 0.75], dtype=torch.float64, device="cpu")
    whole, most, half = values.quantile(shares, dim=0).split(2)
    return Reach(whole, most, half)


def typical(reach: torch.Tensor) -> tuple[float, float]:
    """Both ends, of the feature in the middle."""
    low, high = reach.median(dim=1).values.tolist()
    return low, high
