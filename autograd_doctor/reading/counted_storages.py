"""Memory that tensors hold, in which each storage counts once."""

from __future__ import annotations

from collections.abc import Iterable

import torch

from autograd_doctor.reading.subclasses import storages_of


class CountedStorages:
    """Storages that were met. kind: of the device, where only those of one count."""

    def __init__(self, kind: str | None = None) -> None:
        self._kind = kind
        self._met: set[int] = set()

    def add(self, tensors: Iterable[torch.Tensor]) -> int:
        """The bytes of those that were not counted before."""
        here = (tensor for tensor in tensors if self._kind in (None, tensor.device.type))
        return sum(size for each in here for address, size in storages_of(each) if self.take(address, size))

    def take(self, address: int, size: int) -> bool:
        """Whether it was not counted before, and holds anything."""
        is_new = address not in self._met and size > 0
        self._met.add(address)
        return is_new
