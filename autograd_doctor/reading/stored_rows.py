"""What a data set stores, sample by sample: the tensors and arrays among its attributes, and numbers for their rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import torch
from torch.utils.data import Dataset, Subset

from autograd_doctor.reading.fingerprint import row_keys
from autograd_doctor.reading.tensor_facts import at_home, readable
from autograd_doctor.reading.without_running import attributes, is_a, is_array

_MOST_VALUES = 1024
"""Of a row, spread over it evenly."""
_MOST_WHOLE = 2**22
"""Values of all rows that are read together, where they are wanted whole."""
_MOST_PARTS = 4096
_MOST_FIELDS = 8
_NESTING = 3
"""Data sets within data sets: a subset of one that transforms another."""


class Field(NamedTuple):
    """An attribute that holds samples. holder: the data set that it belongs to."""

    name: str
    holder: object
    rows: Any


class Stored(NamedTuple):
    """Samples as they are stored at a moment: a number for the bits of each, and copies of their values.

    None stands for what is neither a tensor nor numbers in an array. shapes: of each, where all its values are here.
    """

    keys: Sequence[int | None]
    values: Any
    shapes: Sequence[tuple[int, ...] | None]

    def size(self, position: int) -> float:
        """The mean of the absolute values of one of them."""
        values = self.values[position]
        return float(abs(values.double() if isinstance(values, torch.Tensor) else values.astype("float64")).mean())

    def order_since(self, before: Stored, position: int) -> tuple[int, ...] | None:
        """Where the parts of a sample were before, as the points of a cloud, if it has the same ones in another order.

        None if it has others, or if that cannot be told.
        """
        shape = self.shapes[position]
        if not shape or shape != before.shapes[position] or not 1 < shape[0] <= _MOST_PARTS:
            return None
        now, then = (_keys(each.values[position].reshape(shape[0], -1)) for each in (self, before))
        if now is None or then is None or sorted(now) != sorted(then):
            return None
        places = {key: place for place, key in enumerate(then)}
        return tuple(places[key] for key in now)

    def only_value(self, position: int) -> float | None:
        """Of a sample that has just one."""
        values = self.values[position]
        return float(values[0]) if len(values) == 1 else None


def fields_of(dataset: object, indices: Sequence[int], nesting: int = _NESTING) -> list[tuple[Field, Sequence[int]]]:
    """The fields of a data set and of those inside it, with the rows that these indices stand for."""
    found: list[tuple[Field, Sequence[int]]] = []
    if is_a(dataset, Subset):
        inner: Any = dataset
        return fields_of(inner.dataset, _chosen(inner, indices), nesting - 1) if nesting else []
    for name, value in attributes(dataset).items():
        if nesting and is_a(value, Dataset):
            found += fields_of(value, indices, nesting - 1)
        for path, rows in _columns(name, value):
            if indices and max(indices) < len(rows):
                found.append((Field(path, dataset, rows), indices))
    return found[:_MOST_FIELDS]


def _chosen(subset: Any, indices: Sequence[int]) -> list[int]:
    """Its own indices at these: plain numbers, of whatever kind they are, and none where they are something else."""
    chosen = [subset.indices[index] for index in indices]
    return [int(each) for each in chosen] if all(hasattr(each, "__index__") for each in chosen) else []


def _columns(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if _is_array(value):
        yield name, value
    elif type(value) in (list, tuple) and value and _is_array(value[0]):
        if len(value) <= _MOST_FIELDS and all(_is_array(each) and len(each) == len(value[0]) for each in value):
            yield from ((f"{name}[{position}]", each) for position, each in enumerate(value))
        if type(value) is list:
            yield name, value


def _is_array(value: Any) -> bool:
    if type(value) is torch.Tensor:
        return value.dim() > 0 and readable(value)
    return is_array(value) and bool(value.ndim)


def stored(field: Field, indices: Sequence[int], *, whole: bool = False) -> Stored:
    """The rows of a field as they are now. whole: with all of their values, unless they are very many."""
    most = _MOST_WHOLE // max(len(indices), 1) if whole else _MOST_VALUES
    if type(field.rows) is not list:
        return _stored(field.rows, list(indices), most)
    rows = [field.rows[index] for index in indices]
    each = [_stored(row[None], [0], most) if _is_array(row) else _nothing(1) for row in rows]
    return Stored([one.keys[0] for one in each], [one.values[0] for one in each], [one.shapes[0] for one in each])


def _stored(rows: Any, indices: list[int], most: int) -> Stored:
    if not (rows.is_contiguous() if isinstance(rows, torch.Tensor) else rows.flags.c_contiguous):
        rows, indices = rows[indices], list(range(len(indices)))
    length = math.prod(rows.shape[1:])
    if not length:
        return _nothing(len(indices))
    spread = rows.reshape(len(rows), length)[:, :: -(-length // most)]
    values = at_home(spread.detach()[indices]) if isinstance(spread, torch.Tensor) else spread[indices]
    keys, shape = _keys(values), tuple(rows.shape[1:]) if length <= most else None
    return Stored(keys, values, [shape] * len(indices)) if keys is not None else _nothing(len(indices))


def _nothing(count: int) -> Stored:
    return Stored([None] * count, [None] * count, [None] * count)


def _keys(values: Any) -> Sequence[int] | None:
    """A number for the bits of each row, None if these are no real numbers. Without NumPy, which need not be there."""
    if isinstance(values, torch.Tensor):
        return row_keys(values)
    return [_digest(row.tobytes()) for row in values] if values.dtype.kind in ("f", "i", "u", "b") else None


def _digest(content: bytes) -> int:
    """The same in all processes, as Python's own hash is not."""
    return int.from_bytes(blake2b(content, digest_size=8).digest())
