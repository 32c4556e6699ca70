"""Fields of batches, and the lines of data sets that they came from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, Dataset, Subset, TensorDataset

from autograd_doctor.instruments.spine.batch_sources import BatchSources, end_of_reading
from autograd_doctor.instruments.spine.tensors import Tensors
from autograd_doctor.reading.places import locate
from autograd_doctor.signals.attention import Attention
from tests.watching import Recorded, watching


class Rows(Dataset[Any]):
    def __init__(self) -> None:
        self.rows = torch.arange(12.0).reshape(4, 3)

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> Any:
        doubled = self.rows[index] * 2.0
        return doubled, index % 2


class Choosing(Rows):
    def __getitem__(self, index: int) -> Any:
        if index > 1:
            return 1.5
        return 2.5


def line_of(run: Recorded, tensor: torch.Tensor) -> int | None:
    made = run.find(Tensors).get(tensor)
    where = locate(made.source) if made is not None else None
    return None if where is None else where.line


def after(function: Callable[..., Any], lines: int) -> int:
    return function.__code__.co_firstlineno + lines


def test_fields_come_from_the_operation_or_the_return_of_the_data_set() -> None:
    with watching(BatchSources) as run:
        values, indices = next(iter(DataLoader(Subset(Rows(), [0, 1, 2]), batch_size=2)))
        assert line_of(run, values) == after(Rows.__getitem__, 1)
        assert line_of(run, indices) == after(Rows.__getitem__, 2)
        assert line_of(run, values + 1.0) is None, "what is computed from them later has a line of its own"
        assert line_of(run, torch.stack([values, values])) == after(Rows.__getitem__, 1)
        assert line_of(run, values.reshape(-1)) == after(Rows.__getitem__, 1)


def test_what_joins_samples_is_not_what_they_came_from() -> None:
    def collate(samples: list[Any]) -> torch.Tensor:
        return torch.stack([sample[0] for sample in samples])

    def scaling(samples: list[Any]) -> torch.Tensor:
        return collate(samples).mul(0.5)

    with watching(BatchSources) as run:
        values = next(iter(DataLoader(Rows(), batch_size=2, collate_fn=collate)))
        assert line_of(run, values) == after(Rows.__getitem__, 1)
        values = next(iter(DataLoader(Rows(), batch_size=2, collate_fn=scaling)))
        assert line_of(run, values) == after(scaling, 1)


def test_rows_of_plain_tensors_come_from_where_these_were_made() -> None:
    with watching(BatchSources) as run:
        columns = torch.ones(4, 2).cumsum(0)
        (values,) = next(iter(DataLoader(TensorDataset(columns), batch_size=2)))
        assert line_of(run, values) == after(test_rows_of_plain_tensors_come_from_where_these_were_made, 2)


def test_in_steps_that_are_not_looked_at_closely_nothing_is_known() -> None:
    with watching(BatchSources) as run:
        run.attend(Attention.FULL)
        values, _ = next(iter(DataLoader(Rows(), batch_size=2)))
        assert line_of(run, values) is None


def test_after_a_pass_nobody_listens() -> None:
    with watching(BatchSources) as run:
        for _ in DataLoader(Rows(), batch_size=4):
            pass
        values = torch.ones(2) + 1.0
        assert line_of(run, values) is None


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (Rows(), after(Rows.__getitem__, 2)),
        (Choosing(), after(Choosing.__getitem__, 0)),
        (Subset(Rows(), [0]), after(Rows.__getitem__, 2)),
        (TensorDataset(torch.ones(2)), None),
        ([1, 2], None),
    ],
    ids=["one return", "several", "a part of it", "torch's own", "a list"],
)
def test_where_the_reading_of_a_sample_ends(data: object, line: int | None) -> None:
    where = locate(end_of_reading(data))
    assert (None if where is None else where.line) == line
