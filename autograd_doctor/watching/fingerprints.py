"""Whether values changed, told by one number per tensor."""

from __future__ import annotations

import torch
from torch.nn.parameter import is_lazy
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

Numbered = list[tuple[int, torch.Tensor]]


def fingerprints(numbered: Numbered) -> dict[int, int]:
    """The fingerprints of those tensors whose values lie in memory of this process, read back once per device."""
    by_device: dict[torch.device, Numbered] = {}
    for number, tensor in numbered:
        if _is_readable(tensor):
            by_device.setdefault(tensor.device, []).append((number, tensor))
    found: dict[int, int] = {}
    for members in by_device.values():
        values = torch.stack([_fingerprint(tensor) for _, tensor in members]).tolist()
        found.update(zip((number for number, _ in members), values, strict=True))
    return found


def _is_readable(tensor: torch.Tensor) -> bool:
    """Lazy, sparse, meta and wrapped (sharded, quantized) tensors are left alone, and those whose storage is freed."""
    if is_lazy(tensor) or tensor.layout is not torch.strided or tensor.is_meta or is_traceable_wrapper_subclass(tensor):
        return False
    return tensor.numel() > 0 and tensor.untyped_storage().nbytes() > 0


def _fingerprint(tensor: torch.Tensor) -> torch.Tensor:
    """The squared bits of a tensor added up as integers: equal for equal tensors, and hardly ever for others.

    Plain sums would miss updates that cancel, as those of a bias under a softmax do.
    """
    bits = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    values = torch.view_as_real(tensor.detach()) if tensor.is_complex() else tensor.detach()
    return values.view(bits[values.dtype.itemsize]).square().sum()
