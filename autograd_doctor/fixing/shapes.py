"""Shapes of tensors that are to meet."""

from __future__ import annotations

from collections.abc import Sequence


def extra_dimension(shape: Sequence[int], other: Sequence[int]) -> int | None:
    """The dimension of size one that a shape has beyond another, which is the same without it."""
    found = [dim for dim, size in enumerate(shape) if size == 1 and [*shape[:dim], *shape[dim + 1 :]] == list(other)]
    return found[-1] if found else None
