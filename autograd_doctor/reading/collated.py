"""Whether the fields of samples that were put together into a batch still belong together there."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import Any, NamedTuple

import torch

from autograd_doctor.reading.tensor_facts import at_home, readable
from autograd_doctor.reading.without_running import is_a

_MOST_FIELDS = 8
_MOST_SAMPLES = 128
_MOST_ELEMENTS = 2**20


class Misordered(NamedTuple):
    """Two tensors of a batch, by where they stand in it, and how many of their rows do not go together.

    moved: is not in the order of the samples.
    """

    moved: str
    left: str
    apart: int


class _Placed(NamedTuple):
    """A tensor of a batch that holds a field. rows: for each of its rows, the samples that have just these values."""

    name: str
    field: int
    rows: list[set[int]]

    @property
    def order(self) -> list[int] | None:
        """Of the samples in it; None where several have the same values."""
        order = [next(iter(row)) for row in self.rows]
        return order if all(len(row) == 1 for row in self.rows) and len(set(order)) == len(order) else None


def misordered(samples: Sequence[Any], batch: Any) -> Misordered | None:
    """Two fields of which one was put into another order than the other; None if all go together, or it is unclear.

    A batch that holds an order of its rows tells its reader how to bring them together.
    """
    if not 2 < len(samples) <= _MOST_SAMPLES:
        return None
    fields, parts = _fields(samples), _parts(batch)
    placed = [each for name, tensor in parts for each in _placements(name, tensor, fields)]
    if any(is_order(tensor) for name, tensor in parts if all(each.name != name for each in placed)):
        return None
    for one, other in permutations(sorted({each.field for each in placed}), 2):
        clear = [each for each in placed if each.field == one and each.order is not None]
        pairs = [(mine, its) for mine in clear for its in placed if its.field == other]
        if pairs:
            mine, its = min(pairs, key=lambda pair: _apart(*pair))
            if _apart(mine, its) > 1:
                moved, left = (its, mine) if mine.order == sorted(mine.order or ()) else (mine, its)
                return Misordered(moved.name, left.name, _apart(mine, its))
    return None


def is_order(tensor: torch.Tensor) -> bool:
    """Whether it holds the numbers of its own rows, each once, and not one after the other."""
    if tensor.dim() != 1 or tensor.is_floating_point() or tensor.dtype is torch.bool or len(tensor) < 2:
        return False
    numbers = tensor.tolist()
    ascending = list(range(len(numbers)))
    return numbers != ascending and sorted(numbers) == ascending


def _apart(clear: _Placed, other: _Placed) -> int:
    """How many rows of two tensors cannot be of the same samples."""
    return sum(sample not in row for sample, row in zip(clear.order or (), other.rows, strict=True))


def _fields(samples: Sequence[Any]) -> list[list[torch.Tensor]]:
    """The values of each field, sample by sample, as one row each; those that are no numbers are left out."""
    first = samples[0]
    columns: list[list[Any]] = []
    if all(is_a(sample, dict) for sample in samples):
        columns = [[sample.get(key) for sample in samples] for key in first]
    elif all(is_a(sample, (tuple, list)) and len(sample) == len(first) for sample in samples):
        columns = [list(column) for column in zip(*samples, strict=True)]
    rows = ([_row(value, len(samples)) for value in column] for column in columns[:_MOST_FIELDS])
    return [[each for each in row if each is not None] for row in rows if all(each is not None for each in row)]


def _row(value: Any, samples: int) -> torch.Tensor | None:
    if isinstance(value, torch.Tensor) and not readable(value):
        return None
    try:
        row = torch.as_tensor(value, device="cpu").detach().flatten()
    except (TypeError, ValueError, RuntimeError):  # strings, and lists of several lengths
        return None
    return row.double() if 0 < row.numel() <= _MOST_ELEMENTS // samples and not row.is_complex() else None


def _parts(batch: Any) -> list[tuple[str, torch.Tensor]]:
    if isinstance(batch, torch.Tensor):
        return [("", at_home(batch))] if readable(batch) else []
    if is_a(batch, dict):
        named = [(f"[{key!r}]", value) for key, value in batch.items()]
    else:
        named = [(f"[{place}]", value) for place, value in enumerate(batch)] if is_a(batch, (tuple, list)) else []
    tensors = [(name, value) for name, value in named if isinstance(value, torch.Tensor) and readable(value)]
    small = [(name, value) for name, value in tensors if value.dim() and value.numel() <= _MOST_ELEMENTS]
    return [(name, at_home(value)) for name, value in small[:_MOST_FIELDS]]


def _placements(name: str, tensor: torch.Tensor, fields: Sequence[list[torch.Tensor]]) -> list[_Placed]:
    """The fields that a tensor holds, each sample once, along its first axis or its second."""
    found = []
    for axis in range(min(2, tensor.dim())):
        given = tensor.detach().movedim(axis, 0).flatten(1) if tensor.dim() > 1 else tensor.detach().unsqueeze(1)
        for number, field in enumerate(fields):
            if given.shape[1] and len(given) == len(field):
                rows = _samples_in(given.double(), field)
                if all(rows) and len(set().union(*rows)) == len(field):
                    found.append(_Placed(name, number, rows))
    return found


def _samples_in(given: torch.Tensor, field: Sequence[torch.Tensor]) -> list[set[int]]:
    """For each row the samples that it holds; only those that begin alike are compared to their ends."""
    begins: dict[float, list[int]] = {}
    for at, sample in enumerate(field):
        begins.setdefault(float(sample[0]), []).append(at)
    heads = given[:, 0].tolist()
    return [
        {at for at in begins.get(head, ()) if _holds(row, field[at])} for head, row in zip(heads, given, strict=True)
    ]


def _holds(row: torch.Tensor, sample: torch.Tensor) -> bool:
    """Whether a row is a sample, filled up with one value if it is longer; they begin alike."""
    count = len(sample)
    if len(row) == 1:
        return count == 1
    if len(row) < count or not torch.equal(row[:count], sample):
        return False
    return len(row) == count or bool((row[count:] == row[-1]).all())
