"""Some of the values of tensors, spread evenly: enough to tell how large they are and by how much they change."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch

from autograd_doctor.reading.subclasses import plain_parts
from autograd_doctor.reading.tensor_facts import ComingNorms, norms_to_come
from autograd_doctor.reading.torch_versions import clones

_MOST_VALUES = 4096
"""Of each tensor. The root mean square of so many is within a few percent of that of all."""


def spread(tensor: torch.Tensor) -> torch.Tensor | None:
    """At most 4,096 values of a tensor, from all over it, as a view where that is possible; None if this process holds
    none of them. They lie an odd step apart, which meets every column of most matrices."""
    part = next(plain_parts(tensor), None)
    if part is None or not part.numel():
        return None
    values = part.reshape(-1)
    return values[:: -(-len(values) // _MOST_VALUES) | 1]


def copies(tensors: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
    """Copies of tensors, all made in one go."""
    return clones(tensors) if tensors else ()


def differences(one: Sequence[torch.Tensor], other: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
    """What each tensor has more than its counterpart of the same shape."""
    return torch._foreach_sub(list(one), list(other)) if one else ()


class ComingSizes(NamedTuple):
    """Root mean squares of tensors, one number for each, as soon as their norms are read."""

    norms: ComingNorms
    counts: list[int]

    def put_together(self, values: Sequence[float]) -> list[float]:
        """values: of `norms.parts`."""
        norms = self.norms.put_together(values)
        return [norm / math.sqrt(count) for norm, count in zip(norms, self.counts, strict=True)]


def root_mean_squares(tensors: Sequence[torch.Tensor]) -> ComingSizes:
    """One number for each tensor, to be read in one go."""
    return ComingSizes(norms_to_come(list(tensors)), [tensor.numel() for tensor in tensors])
