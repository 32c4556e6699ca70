"""Which elements of a storage a tensor covers, and whether two tensors share any."""

from __future__ import annotations

from types import EllipsisType
from typing import Any, NamedTuple

import torch

from autograd_doctor.reading.subclasses import plain_parts

_MOST_MARKED = 2**26
"""Elements that are marked one by one, a byte each, where neither region is one piece."""


class Region(NamedTuple):
    """The elements of a storage that a tensor covers. Offset and strides count elements of `itemsize` bytes."""

    storage: int
    itemsize: int
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def end(self) -> int:
        """One after the last element."""
        if 0 in self.shape:
            return self.offset
        return self.offset + 1 + sum((size - 1) * stride for size, stride in zip(self.shape, self.strides, strict=True))

    def overlaps(self, other: Region) -> bool:
        """Whether both cover some element; two in many pieces each that are too large to mark do not."""
        if self.storage != other.storage or not self._meets(other):
            return False
        if self == other or self.itemsize != other.itemsize:
            return True
        first, last = min(self.offset, other.offset), max(self.end, other.end)
        if last - first > _MOST_MARKED:
            return self._is_whole() and other._is_whole()
        marks = torch.zeros(last - first, dtype=torch.bool, device="cpu")
        marks.as_strided(self.shape, self.strides, self.offset - first).fill_(True)
        return bool(marks.as_strided(other.shape, other.strides, other.offset - first).any())

    def _meets(self, other: Region) -> bool:
        """Whether the bytes from the first element to the last do."""
        return self.offset * self.itemsize < other.end * other.itemsize and (
            other.offset * other.itemsize < self.end * self.itemsize
        )

    def _is_whole(self) -> bool:
        """Whether it is one piece."""
        return self.end - self.offset == torch.Size(self.shape).numel()


def region_of(tensor: torch.Tensor) -> Region | None:
    """Of the first dense tensor that holds its values; None where there is none."""
    part = next(plain_parts(tensor), None)
    if part is None:
        return None
    address = part.untyped_storage().data_ptr()
    return Region(address, part.element_size(), int(part.storage_offset()), tuple(part.shape), part.stride())


def indexed(target: torch.Tensor, index: Any) -> torch.Tensor:
    """What `target[index] = …` writes to: a view, or all of `target` where the index is made of numbers in tensors."""
    parts = index if isinstance(index, tuple) else (index,)
    if all(type(part) in (int, slice, EllipsisType, type(None)) for part in parts):
        return target[index]
    return target
