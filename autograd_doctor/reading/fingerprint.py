"""Numbers that tell data apart, row by row, without keeping any of it."""

from __future__ import annotations

import math
import random
from functools import cache
from typing import Any

import torch

from autograd_doctor.reading.tensor_facts import at_home, is_remote, near, readable

_MOST_ROWS = 4096
"""Of one tensor, the first: batches have fewer samples."""
_MOST_WORDS = 1024
"""Of one row, spread over it evenly: so many values of two pictures are never the same by accident."""
_WHOLE = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
_LOOKED_AT = 64
_DIFFERENT = 12
_ENOUGH, _OWN = 24.0, 16.0
"""Bits that tell samples apart, and those of a number that no other row has in its place."""
_MOST_OF_THEM = 0.9


def row_keys(tensor: torch.Tensor, *, waits: bool = False) -> list[int] | None:
    """A number for each row, equal where rows are equal bit for bit, and hardly ever elsewhere.

    None where it has no values to read, or where an accelerator would have to be waited for, unless the caller `waits`.
    """
    if not _has_rows(tensor, waits=waits):
        return None
    words = _words(part_that_tells(near(tensor)))
    return words.mv(_weights()[: words.shape[1]]).tolist()


def _has_rows(tensor: torch.Tensor, *, waits: bool = False) -> bool:
    """Whether its rows have keys."""
    return (waits or not is_remote(tensor)) and readable(tensor) and tensor.dim() > 0 and tensor.numel() > 0


def part_that_tells(tensor: torch.Tensor) -> torch.Tensor:
    """What of a tensor its row keys are computed from, a row for each of its first ones: they are those of the part."""
    tensor = tensor if len(tensor) <= _MOST_ROWS else tensor[:_MOST_ROWS]
    rows = tensor if tensor.dim() == 2 else tensor.reshape(tensor.shape[0], -1)
    return rows[:, :: -(-rows.shape[1] // _MOST_WORDS)] if rows.shape[1] > _MOST_WORDS else rows


def tells_apart(tensor: torch.Tensor) -> bool:
    """Whether two samples in it that are equal bit for bit are hardly so by chance, going by its first rows.

    Numbers that are not round, as measurements are, tell enough if there are two of them in a row that no other row has
    there, or many that others share, as places on a grid that were scaled; of round ones, as those of pixels and
    boards, it takes many different ones. Whole numbers, as tokens are, repeat in any text.
    """
    if not tensor.is_floating_point() or not _has_rows(tensor[:1]):
        return False
    rows = tensor.detach()[:_LOOKED_AT].reshape(min(tensor.shape[0], _LOOKED_AT), -1)[:, :_MOST_WORDS]
    different = (rows.sort(1).values.diff(dim=1) != 0).sum(1) + 1
    are_many = different >= _DIFFERENT
    if not are_many.all():
        are_many |= _bits(rows) >= _ENOUGH
    return float(are_many.float().mean()) >= _MOST_OF_THEM


def _bits(rows: torch.Tensor) -> torch.Tensor:
    """How much the numbers of each row that are not round tell of it, by how many other rows have the same ones; a row
    that is there again is no other."""
    each, which = rows.unique(dim=0, return_inverse=True)
    times = (each[:, None] == each).sum(1)
    told = torch.where(times > 1, math.log2(len(each)) - times.log2(), _OWN)
    return (told * _are_uneven(each)).sum(1)[which]


def uneven(rows: torch.Tensor) -> torch.Tensor:
    """How many numbers of each row, of shape (rows, values), are not round."""
    return _are_uneven(rows).sum(1)


def _are_uneven(rows: torch.Tensor) -> torch.Tensor:
    """Which are not round, as measurements are: no multiples of 1/256, which values of pixels are."""
    return rows * 256 != (rows * 256).round()


def key_of(rows: list[int]) -> int:
    """A number for rows in their order."""
    return hash(tuple(rows))


def index_key(index: Any) -> int | None:
    """A number for the samples that a sampler asks for; None for what is not told by whole numbers."""
    if type(index) in (list, tuple) and all(type(each) is int for each in index):
        return hash(tuple(index))
    return index if type(index) is int else None


def _words(rows: torch.Tensor) -> torch.Tensor:
    """The bits of each row, as whole numbers."""
    rows = at_home(rows)
    if rows.is_floating_point():
        rows = rows.detach().contiguous().view(_WHOLE[rows.dtype.itemsize])
    # Squares tell values apart that differ in their sign or their highest bits only, which products may lose.
    words = rows.long()
    return torch.addcmul(words, words, words)


@cache
def _weights() -> torch.Tensor:
    """Odd numbers, by a generator of our own."""
    generator = random.Random(0)
    return torch.tensor([generator.getrandbits(62) | 1 for _ in range(_MOST_WORDS)], device="cpu")
