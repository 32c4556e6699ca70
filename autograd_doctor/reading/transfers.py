"""Small tensors on their way home from accelerators, for which nobody has to wait."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from autograd_doctor.reading.torch_versions import mark_now


class _Load(NamedTuple):
    """What comes from one device. mark: tells when it has come, None if it was waited for."""

    positions: Sequence[int]
    kinds: Sequence[tuple[torch.dtype, torch.Size]]
    data: torch.Tensor
    mark: Any


class Transfer:
    """The values of dense tensors of any dtype, sent for in one copy from each device.

    The copy goes to pinned memory, into which the device writes when it has done what it was asked for before. Where
    there is no such memory, or nothing that tells when it is written, the copy is waited for.
    """

    def __init__(self, tensors: Sequence[torch.Tensor]) -> None:
        by_device: dict[torch.device, list[int]] = {}
        for position, tensor in enumerate(tensors):
            by_device.setdefault(tensor.device, []).append(position)
        self._count = len(tensors)
        self._loads = [_sent(positions, [tensors[each] for each in positions]) for positions in by_device.values()]

    @property
    def arrived(self) -> bool:
        """Whether nobody has to wait for the values."""
        return all(load.mark is None or load.mark.query() for load in self._loads)

    def values(self) -> list[Any]:
        """Numbers, or lists of them, in the order of the tensors; waits where they have not come yet."""
        found: dict[int, Any] = {}
        for load in self._loads:
            if load.mark is not None and not load.mark.query():
                load.mark.synchronize()
            parts = load.data.split([shape.numel() * dtype.itemsize for dtype, shape in load.kinds])
            for position, (dtype, shape), part in zip(load.positions, load.kinds, parts, strict=True):
                aligned = part.clone()  # the bytes of a number may begin anywhere in the load
                found[position] = aligned.view(dtype).reshape(shape).tolist()
        return [found[position] for position in range(self._count)]


def _sent(positions: Sequence[int], tensors: Sequence[torch.Tensor]) -> _Load:
    data = torch.cat([tensor.detach().contiguous().reshape(-1).view(torch.uint8) for tensor in tensors])
    kinds = [(tensor.dtype, tensor.shape) for tensor in tensors]
    if data.device.type == "cpu":
        return _Load(positions, kinds, data, None)
    try:
        pinned = torch.empty(data.shape, dtype=torch.uint8, device="cpu", pin_memory=True)
    except RuntimeError:  # the device has no use for such memory
        return _Load(positions, kinds, data.cpu(), None)
    pinned.copy_(data, non_blocking=True)
    mark = mark_now(data.device)
    return _Load(positions, kinds, pinned if mark is not None else data.cpu(), mark)
