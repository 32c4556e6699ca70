"""Which rows, or elements, of a tensor an index or a mask chooses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from autograd_doctor.reading.tensor_facts import at_home, readable

_MOST = 100_000
"""Rows to tell one by one."""


class Chosen(NamedTuple):
    """Positions in a space: of the rows of a tensor, or of the elements of its first dimensions."""

    space: tuple[int, ...]
    order: tuple[int, ...]
    key: int

    @classmethod
    def of(cls, space: Sequence[int], order: Sequence[int]) -> Chosen | None:
        """None for all of them, in their order."""
        if len(order) == math.prod(space) and list(order) == list(range(len(order))):
            return None
        chosen = tuple(order)
        return cls(tuple(space), chosen, hash((tuple(space), chosen)))

    def among(self, inner: Chosen) -> Chosen | None:
        """What is chosen of these by positions among them; None if these are not all there are."""
        if inner.space != (len(self.order),):
            return None
        return Chosen.of(self.space, [self.order[at] for at in inner.order])


def chosen_by(index: Any, shape: Sequence[int]) -> Chosen | None:
    """What an index chooses of a tensor of this shape.

    Raises ValueError for what is neither a mask, nor row numbers, nor a slice of rows, nor row and column numbers.
    """
    if not shape:
        raise ValueError(f"these are no rows: {type(index).__name__}")
    if type(index) is slice and all(type(end) in (int, type(None)) for end in (index.start, index.stop, index.step)):
        return Chosen.of(shape[:1], range(*index.indices(shape[0])))
    if type(index) is list and all(type(each) is int for each in index):
        return Chosen.of(shape[:1], [each % shape[0] for each in index])
    if type(index) is tuple and len(index) == 2 and all(map(_numbers_rows, index)) and len(shape) > 1:
        rows, columns = (at_home(each).tolist() for each in index)
        if len(rows) == len(columns):
            pairs = zip(rows, columns, strict=True)
            order = [row % shape[0] * shape[1] + column % shape[1] for row, column in pairs]
            return Chosen.of(shape[:2], order)
    if _numbers_rows(index):
        return Chosen.of(shape[:1], [each % shape[0] for each in at_home(index).tolist()])
    if _is_told(index) and index.dtype is torch.bool and tuple(shape[: index.dim()]) == tuple(index.shape):
        return Chosen.of(index.shape, at_home(index).flatten().nonzero().flatten().tolist())
    raise ValueError(f"these are no rows: {type(index).__name__}")


def _numbers_rows(index: Any) -> bool:
    return _is_told(index) and index.dim() == 1 and index.dtype in (torch.int64, torch.int32)


def _is_told(index: Any) -> bool:
    return isinstance(index, torch.Tensor) and index.dim() > 0 and 0 < index.numel() <= _MOST and readable(index)
