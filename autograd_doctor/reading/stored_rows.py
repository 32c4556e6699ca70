"""What a data set stores, sample by sample: the tensors and arrays among its attributes, and numbers for their rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch.utils.data import Dataset, Subset

from autograd_doctor.reading.tensor_facts import readable
from autograd_doctor.reading.without_running import attributes, is_a

_MOST_VALUES = 4096
"""Of a row, spread over it evenly."""
_MOST_FIELDS = 8
_NESTING = 3
"""Data sets within data sets: a subset of one that transforms another."""


class Field(NamedTuple):
    """An attribute that holds samples. holder: the data set that it belongs to."""

    name: str
    holder: object
    rows: Any


class Row(NamedTuple):
    """A sample as it is stored: a number for its bits, the mean of its absolute values, and its only value."""

    key: int
    size: float
    value: float | None


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
        return value.dim() > 0 and value.device.type == "cpu" and readable(value)
    return type(value).__module__ == "numpy" and type(value).__name__ == "ndarray" and value.ndim > 0


def _of_tensor(row: torch.Tensor) -> Row | None:
    """Without NumPy, which need not be there."""
    if not row.numel() or row.is_complex():
        return None
    values = row[:: -(-row.numel() // _MOST_VALUES)].contiguous()
    bits = bytes(values.view(torch.uint8).tolist())
    return Row(hash(bits), float(values.double().abs().mean()), float(values[0]) if row.numel() == 1 else None)


def row_of(field: Field, index: int) -> Row | None:
    """A row as it is now, None where it is neither a tensor nor numbers in an array."""
    row = field.rows[index]
    if isinstance(row, torch.Tensor):
        if row.device.type != "cpu" or not readable(row):
            return None
        return _of_tensor(row.detach().reshape(-1))
    kind = getattr(getattr(row, "dtype", None), "kind", "")
    if kind not in ("f", "i", "u", "b") or not row.size:
        return None
    values = row.reshape(-1)
    values = values[:: -(-values.size // _MOST_VALUES)]
    size = float(abs(values.astype("float64")).mean())
    return Row(hash(values.tobytes()), size, float(values[0]) if row.size == 1 else None)
