"""Data sets that change what they store while they are read."""

from __future__ import annotations

import sys
from typing import Any

import numpy
import pytest
import torch
from torch import nn
from torch.utils.data import ConcatDataset, Dataset, Subset, TensorDataset, default_collate

from autograd_doctor.events.data import StoredDataChanged
from autograd_doctor.instruments.data.readings import Readings
from autograd_doctor.reading.stored_rows import Field, fields_of, stored
from autograd_doctor.signals.fetches import Fetch
from autograd_doctor.signals.modules import ModuleCall
from tests.inventing import Invented, inventing


class Pictures(Dataset[Any]):
    """Writes to what it stores as it is told."""

    def __init__(self, stored: Any, how: str) -> None:
        self.stored = stored
        self.how = how
        self.times = torch.zeros(len(stored))

    def __len__(self) -> int:
        return len(self.stored)

    def __getitem__(self, index: int) -> Any:
        picture = self.stored[index]
        self.times[index] += 1
        if self.how == "always" or (self.how == "once" and self.times[index] == 1):
            picture *= 2
        if self.how == "assigned":
            self.stored[index] = picture * 2
        if self.how == "copied":
            self.stored[index].copy_(picture * 2)
        if self.how == "part":
            self.stored[index] *= 2
        return picture


def read(run: Invented, dataset: Any, *batches: list[int]) -> list[StoredDataChanged]:
    for indices in batches:
        fetch = Fetch(dataset, indices, default_collate)
        run.signals.fetches.began.send(fetch)
        fetch.batch = torch.stack([torch.as_tensor(dataset[index]) for index in indices])
        run.signals.fetches.ended.send(fetch)
    run.find(Readings).finish()
    return run.of(StoredDataChanged)


def test_a_list_of_samples_is_no_trouble():
    with inventing(Readings) as run:
        assert read(run, [torch.ones(3) for _ in range(4)], [0, 1], [2, 3]) == []


STORES = {
    "tensor": lambda: torch.ones(4, 3),
    "array": lambda: numpy.ones((4, 3), dtype=numpy.float32),
    "list": lambda: [torch.ones(3) for _ in range(4)],
    "whole numbers": lambda: torch.ones(4, 3, dtype=torch.uint8),
    "bfloat16": lambda: torch.ones(4, 3, dtype=torch.bfloat16),
}


@pytest.mark.parametrize("store", STORES)
def test_samples_that_each_reading_changes(store):
    dataset = Pictures(STORES[store](), "always")
    with inventing(Readings) as run:
        told = read(run, dataset, [0, 1], [1, 2])
    event = told[-1]
    assert (event.dataset, event.field, event.samples, event.again) == ("Pictures", "stored", 3, 1)
    assert (event.index, event.times, event.size_before, event.size) == (0, 1, 1.0, 2.0)


def test_the_line_that_writes_is_found_in_a_later_reading():
    dataset = Pictures(torch.ones(4, 3), "always")
    before = sys.gettrace()
    with inventing(Readings) as run:
        told = read(run, dataset, [0, 1], [0, 1])
    assert sys.gettrace() is before
    assert told[-1].seen == (before is None)
    if before is None:
        assert told[-1].location is not None
        assert told[-1].location.line == Pictures.__getitem__.__code__.co_firstlineno + 4


@pytest.mark.parametrize(
    ("how", "assigned"), [("assigned", True), ("copied", True), ("always", False), ("part", False)]
)
def test_a_line_that_says_what_it_does(how: str, assigned: bool) -> None:
    with inventing(Readings) as run:
        told = read(run, Pictures(torch.ones(4, 3), how), [0, 1], [0, 1])
    assert told[-1].assigned == (assigned and sys.gettrace() is None)


@pytest.mark.parametrize(("asked", "told"), [(nn.Linear(3, 1), True), (nn.Identity(), False)])
def test_models_that_are_asked_while_a_sample_is_read(asked: nn.Module, told: bool) -> None:
    dataset = Pictures(torch.ones(4, 3), "never")
    fetch, call = Fetch(dataset, [0], default_collate), ModuleCall(asked, (), {}, True, False)
    with inventing(Readings) as run:
        run.signals.modules.began.send(call)
        run.signals.fetches.began.send(fetch)
        run.signals.modules.began.send(call)
        dataset.stored[0] = 5
        run.signals.fetches.ended.send(fetch)
        run.find(Readings).finish()
        assert [event.asked for event in run.of(StoredDataChanged)] == [told]


def test_a_program_that_is_traced_already_is_let_alone(monkeypatch):
    monkeypatch.setattr(sys, "gettrace", lambda: print)
    dataset = Pictures(torch.ones(4, 3), "always")
    with inventing(Readings) as run:
        told = read(run, dataset, [0, 1], [0, 1])
    assert not told[-1].seen
    assert told[-1].location is not None
    assert told[-1].location.line == Pictures.__getitem__.__code__.co_firstlineno


def test_what_is_changed_once_is_not_changed_again():
    with inventing(Readings) as run:
        told = read(run, Pictures(torch.ones(4, 3), "once"), [0, 1], [0, 1])
    assert {event.again for event in told} == {0}


def test_counters_and_data_that_change_between_readings_are_no_matter():
    dataset = Pictures(torch.ones(4, 3), "never")
    with inventing(Readings) as run:
        assert read(run, dataset, [0, 1]) == []
        dataset.stored[0] = 5
        assert read(run, dataset, [0, 1]) == []


def test_a_reading_that_raised_tells_nothing():
    dataset = Pictures(torch.ones(4, 3), "never")
    with inventing(Readings) as run:
        fetch = Fetch(dataset, [0], default_collate)
        run.signals.fetches.began.send(fetch)
        dataset.stored[0] = 5
        fetch.raised = True
        run.signals.fetches.ended.send(fetch)
        run.find(Readings).finish()
        assert run.of(StoredDataChanged) == []


def test_fields_of_data_sets_within_data_sets():
    inner = TensorDataset(torch.arange(6.0), torch.ones(6, 2))
    ((first, rows), (second, _)) = fields_of(Subset(Subset(inner, [5, 3, 1]), [2, 0]), [0, 1])
    assert (first.name, second.name, list(rows)) == ("tensors[0]", "tensors[1]", [1, 5])
    row = stored(first, [3, 5])
    assert (row.size(1), row.only_value(1)) == (5.0, 5.0)
    assert fields_of(ConcatDataset([inner, inner]), [7]) == []
    assert fields_of(inner, [9]) == []


@pytest.mark.parametrize("indices", [numpy.array([4, 2, 0]), torch.tensor([4, 2, 0])], ids=["array", "tensor"])
def test_indices_of_a_part_are_plain_numbers(indices: Any) -> None:
    ((_, rows),) = fields_of(Subset(TensorDataset(torch.arange(6.0)), indices), [0, 2])
    assert [(type(row), row) for row in rows] == [(int, 4), (int, 0)]


def test_a_part_that_has_something_else_for_indices_is_left_alone() -> None:
    assert fields_of(Subset(TensorDataset(torch.arange(6.0)), ["4", "2"]), [0, 1]) == []  # type: ignore[list-item]


def test_rows_that_are_no_numbers():
    field, _ = fields_of(Pictures([torch.ones(2), "text"], "never"), [0, 1])[0]  # type: ignore[list-item]
    first, second = stored(field, [0, 1]).keys
    assert first is not None
    assert second is None


@pytest.mark.parametrize(
    "rows",
    [
        torch.arange(24.0).reshape(4, 3, 2),
        torch.arange(24.0).reshape(4, 3, 2).movedim(2, 0).movedim(0, 2),
        torch.arange(24).reshape(6, 4).T,
        torch.arange(24, dtype=torch.uint8).reshape(4, 6),
        torch.arange(4) > 2,
        numpy.arange(24.0).reshape(4, 6),
        numpy.arange(24, dtype="uint16").reshape(6, 4).T,
        [torch.arange(3.0) + row for row in range(4)],
        [numpy.arange(row + 1) for row in range(4)],
        torch.arange(4 * 5000.0).reshape(4, 5000),
        numpy.arange(4 * 5000.0).reshape(4, 5000),
    ],
    ids=lambda rows: type(rows).__name__,
)
def test_a_row_that_changes_is_told_from_the_others(rows: Any) -> None:
    """Whatever holds them, and however they lie in memory; what was read before stays what it was."""
    field = Field("rows", None, rows)
    before = stored(field, [3, 1])
    assert stored(field, [3, 1]).keys == before.keys
    size = before.size(0)
    rows[3][...] = 0
    after = stored(field, [3, 1])
    assert [old == new for old, new in zip(before.keys, after.keys, strict=True)] == [False, True]
    assert before.size(0) == size != after.size(0)


def test_rows_without_values_have_no_number() -> None:
    assert stored(Field("rows", None, torch.zeros(3, 0)), [0, 2]).keys == [None, None]
    assert stored(Field("rows", None, numpy.array([["a"], ["b"]])), [0]).keys == [None]


class Clouds(Pictures):
    """Puts the points of a cloud in another order where they lie."""

    def __getitem__(self, index: int) -> Any:
        cloud = self.stored[index]
        self.times[index] += 1
        first = 1 + int(self.times.sum()) % (len(cloud) - 1) if self.how == "shuffled" else 1
        cloud[:] = cloud[[*range(first, len(cloud)), *range(first)]] * (2 if self.how == "grown" else 1)
        return cloud


@pytest.mark.parametrize(
    "store",
    [
        torch.arange(72.0).reshape(4, 6, 3),
        numpy.arange(72.0).reshape(4, 6, 3),
        [torch.arange(18.0).reshape(6, 3) + row for row in range(9)],
        torch.arange(4 * 6 * 500.0).reshape(4, 6, 500),
    ],
    ids=["tensor", "array", "list", "long rows"],
)
@pytest.mark.parametrize(("how", "shuffled"), [("shuffled", True), ("the same way", False), ("grown", False)])
def test_parts_of_samples_in_other_orders(store: Any, how: str, shuffled: bool) -> None:
    dataset = Clouds([row + 0 for row in store] if isinstance(store, list) else store + 0, how)
    with inventing(Readings) as run:
        event = read(run, dataset, [0, 1, 2], [1, 3, 0], [0, 2, 3], [1, 2])[-1]
    assert event.again > 1
    assert event.shuffled == shuffled


class Walkers(Pictures):
    def __getitem__(self, index: int) -> Any:
        walker = self.stored[index]
        way = []
        for _ in range(3):
            walker += 1
            way.append(walker.clone())
        return torch.stack(way) if self.how == "way" else way[-1]


@pytest.mark.parametrize("how", ["way", "end"])
def test_states_that_give_out_where_they_have_been(how: str) -> None:
    with inventing(Readings) as run:
        event = read(run, Walkers(torch.rand(4, 2), how), [0, 1], [1, 0], [0])[-1]
    assert event.in_series == (how == "way")
