"""Small tensors on their way home from accelerators, for which nobody has to wait."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch

from autograd_doctor.reading.torch_versions import mark_now


class _Pack(NamedTuple):
    """Numbers of one dtype, side by side in one tensor, or one tensor with several: of these positions."""

    positions: Sequence[int]
    tensor: torch.Tensor

    def unpacked(self, tensor: torch.Tensor) -> Iterator[tuple[int, Any]]:
        """tensor: the same on the CPU. A tensor without dimensions is told as the number that it is."""
        return zip(self.positions, tensor.tolist() if len(self.positions) > 1 else [_told(tensor)], strict=True)


class _Load(NamedTuple):
    """What comes from one device. mark: tells when it has come, None if it was waited for."""

    packs: Sequence[_Pack]
    data: torch.Tensor
    mark: Any


class Transfer:
    """The values of dense tensors of any dtype, sent for in one copy from each device.

    The copy goes to pinned memory, into which the device writes when it has done what it was asked for before. Where
    there is no such memory, or nothing that tells when it is written, the copy is waited for.
    """

    def __init__(self, tensors: Sequence[torch.Tensor]) -> None:
        by_device: dict[torch.device, list[_Pack]] = {}
        for pack in _packs(tensors):
            by_device.setdefault(pack.tensor.device, []).append(pack)
        self._count = len(tensors)
        self._loads = [_sent(packs) for packs in by_device.values()]

    @property
    def arrived(self) -> bool:
        """Whether nobody has to wait for the values."""
        return all(load.mark is None or load.mark.query() for load in self._loads)

    def values(self) -> list[Any]:
        """Numbers, and tensors on the CPU of those with several, in their order; waits where they have not come yet."""
        found: dict[int, Any] = {}
        for load in self._loads:
            if load.mark is not None and not load.mark.query():
                load.mark.synchronize()
            parts = load.data.split([pack.tensor.numel() * pack.tensor.element_size() for pack in load.packs])
            for pack, part in zip(load.packs, parts, strict=True):
                aligned = part.clone()  # the bytes of a number may begin anywhere in the load
                found.update(pack.unpacked(aligned.view(pack.tensor.dtype).reshape(pack.tensor.shape)))
        return [found[position] for position in range(self._count)]


def values_at_hand(tensors: Sequence[torch.Tensor]) -> list[Any]:
    """The same of tensors on the CPU."""
    found = dict(entry for pack in _packs(tensors) for entry in pack.unpacked(pack.tensor))
    return [found[position] for position in range(len(tensors))]


def _packs(tensors: Sequence[torch.Tensor]) -> Iterator[_Pack]:
    numbers: dict[tuple[torch.device, torch.dtype], list[int]] = {}
    for position, tensor in enumerate(tensors):
        if tensor.dim():
            yield _Pack([position], tensor.detach())
        else:
            numbers.setdefault((tensor.device, tensor.dtype), []).append(position)
    for positions in numbers.values():
        together = [tensors[position].detach() for position in positions]
        yield _Pack(positions, torch.stack(together) if len(together) > 1 else together[0])


def _told(tensor: torch.Tensor) -> Any:
    return tensor if tensor.dim() else tensor.item()


def bytes_of(tensor: torch.Tensor) -> torch.Tensor:
    """What a plain tensor holds, element by element, as one row of bytes."""
    flat = tensor.detach().contiguous().reshape(-1)
    # A single value that was expanded has no stride, and counts as contiguous all the same.
    return flat.as_strided(flat.shape, (1,)).view(torch.uint8)


def _sent(packs: Sequence[_Pack]) -> _Load:
    data = torch.cat([bytes_of(pack.tensor) for pack in packs])
    if data.device.type == "cpu":
        return _Load(packs, data, None)
    try:
        pinned = torch.empty(data.shape, dtype=torch.uint8, device="cpu", pin_memory=True)
    except RuntimeError:  # the device has no use for such memory
        return _Load(packs, data.cpu(), None)
    pinned.copy_(data, non_blocking=True)
    mark = mark_now(data.device)
    return _Load(packs, pinned if mark is not None else data.cpu(), mark)
