"""Workers are tried for a loader that is waited for, and only where a copy of its data set would read the same."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, IterableDataset

from autograd_doctor.events.efficiency import ItemsReread, WorkersRuledOut, WorkersTried
from autograd_doctor.instruments.efficiency import iteration_times
from autograd_doctor.instruments.efficiency.loader_trials import LoaderTrials
from tests.instruments.test_iteration_times import Clock
from tests.watching import Recorded, watching

LEVEL = 0.0


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(iteration_times, "LookClock", Clock)
    monkeypatch.setattr(Clock, "now", 0.0)
    monkeypatch.setattr("os.cpu_count", lambda: 2)


class Numbers(Dataset[torch.Tensor]):
    def __len__(self) -> int:
        return 200

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.full((2,), float(index))


class Harder(Numbers):
    def __getitem__(self, index: int) -> torch.Tensor:
        return super().__getitem__(index) + LEVEL


class Logging(Numbers):
    def __init__(self) -> None:
        self.log: list[int] = []

    def __getitem__(self, index: int) -> torch.Tensor:
        self.log.append(index)
        return super().__getitem__(index)


class Stream(IterableDataset[torch.Tensor]):
    def __iter__(self) -> Any:
        for index in range(200):
            yield torch.full((2,), float(index))


def _slowly(samples: list[torch.Tensor]) -> torch.Tensor:
    """A batch takes a second."""
    Clock.now += 1.0
    return torch.stack(samples)


def _trained_on(dataset: Any) -> Recorded:
    global LEVEL
    model = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    with watching(LoaderTrials) as events:
        for inputs in DataLoader(dataset, batch_size=2, collate_fn=_slowly):
            optimizer.zero_grad()
            model(inputs).sum().backward()
            optimizer.step()
            LEVEL += 1.0
    return events


def test_workers_are_tried_once_and_some_samples_read_again() -> None:
    events = _trained_on(Numbers())
    assert [each.workers for each in events.of(WorkersTried)] == [2]
    assert [each.of for each in events.of(ItemsReread)] == [200]
    assert events.of(WorkersRuledOut) == []


@pytest.mark.parametrize(
    ("dataset", "why"),
    [
        (Harder, "reading uses `LEVEL`, which changes meanwhile: a worker would have a copy of its own"),
        (Logging, "reading uses `log`, which changes meanwhile: a worker would have a copy of its own"),
        (Stream, "each would read all samples: none asked `get_worker_info` for its `id` and `num_workers`"),
    ],
    ids=["read", "written", "stream"],
)
def test_why_workers_are_ruled_out_is_told(dataset: Any, why: str) -> None:
    events = _trained_on(dataset())
    assert [each.why for each in events.of(WorkersRuledOut)] == [why]
    assert events.of(WorkersTried) == []
    assert events.of(ItemsReread) == []
