"""Pictures that are turned over: numbers that tell them apart, and that are found again however they are turned."""

from __future__ import annotations

import torch

from autograd_doctor.reading.fingerprint import row_keys

_TURNS: tuple[tuple[int, ...], ...] = ((), (-1,), (-2,), (-2, -1))
"""The axes that are turned over, of the last two."""
_LEAST = 4
"""Pixels in each direction."""

Keys = tuple[int, ...]
"""Of one picture: as it is, and in each way in which it may be turned over."""


def is_of_pictures(tensor: torch.Tensor) -> bool:
    """Whether it may hold one picture in each row."""
    return tensor.dim() in (3, 4) and min(tensor.shape[-2:]) >= _LEAST


def turned_keys(pictures: torch.Tensor) -> list[Keys]:
    """Of each row; none where it cannot be read without waiting."""
    ways = [row_keys(pictures.flip(turn) if turn else pictures) for turn in _TURNS]
    return list(zip(*(way for way in ways if way is not None), strict=True)) if None not in ways else []


def turn_from(before: int | None, keys: Keys) -> int | None:
    """How a picture was turned over since it had this number; None if it is another, or looks alike in two ways."""
    return keys.index(before) if before in keys and len(set(keys)) == len(keys) else None
