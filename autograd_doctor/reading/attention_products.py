"""The two products of attention, by `matmul`, `bmm` or `einsum`: which axes are positions, and which are features."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from autograd_doctor.reading.products import Subscripts, subscripts
from autograd_doctor.tape import Op

PRODUCTS = frozenset({"matmul", "bmm", "einsum"})


def scored(op: Op, first: torch.Tensor, second: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor] | None:
    """Views of queries and keys, both (..., positions, features), if the result is (..., positions, positions)."""
    if op.name != "einsum":
        return first, second.transpose(-2, -1)
    letters = subscripts(op)
    if letters is None or len(letters.result) < 3:
        return None
    if letters.result[-1] in letters.first:  # keys come first
        letters, first, second = Subscripts(letters.second, letters.first, letters.result), second, first
    batch, row, column = letters.result[:-2], letters.result[-2], letters.result[-1]
    summed = {*letters.first, *letters.second} - {*letters.result}
    of_one = row in letters.second or column in letters.first
    if len(summed) != 1 or of_one or not summed <= {*letters.first} & {*letters.second}:
        return None
    queries = _laid_out(first, letters.first, [*batch, row, *summed])
    return queries, _laid_out(second, letters.second, [*batch, column, *summed])


def weighted(op: Op, values: torch.Tensor, result: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor] | None:
    """Views of the values and of the result, both (..., positions, features), if the weights are the first operand."""
    if op.name != "einsum":
        return values, result
    letters = subscripts(op)
    if letters is None or len(letters.first) < 3:
        return None
    batch, row, column = letters.first[:-2], letters.first[-2], letters.first[-1]
    features = {*letters.second} - {*letters.first}
    if len(features) != 1 or column not in letters.second or row in letters.second:
        return None
    if {*letters.result} != {*batch, row, *features}:
        return None
    found = _laid_out(result, letters.result, [*batch, row, *features])
    return _laid_out(values, letters.second, [*batch, column, *features]), found


def _laid_out(tensor: torch.Tensor, letters: str, wanted: Sequence[str]) -> torch.Tensor:
    """A view with the axes in this order, and one of size 1 for each that it has not."""
    found = tensor.permute([letters.index(each) for each in wanted if each in letters])
    return found[tuple(slice(None) if each in letters else None for each in wanted)]
