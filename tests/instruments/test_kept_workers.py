"""What has changed of a data set since workers were started, and whether it makes other samples."""

from __future__ import annotations

import gc
import linecache
import multiprocessing
import random
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, Dataset, Subset, get_worker_info

from autograd_doctor.events.data import WorkersLeftBehind
from autograd_doctor.events.run import InstrumentLimited
from autograd_doctor.instruments.data.kept_workers import KeptWorkers
from autograd_doctor.reading.places import set_target_folder
from tests.watching import Recorded, watching


class Scale:
    def __init__(self, by: float) -> None:
        self.by = by
        self.rng = random.Random(by)

    def __call__(self, value: torch.Tensor) -> torch.Tensor:
        return value * self.by + self.rng.random()


class Numbers(Dataset[torch.Tensor]):
    def __init__(self) -> None:
        self.level = 1
        self.unread = 1
        self.options = {"offset": 0.0}
        self.rows = list(range(16))
        self.table = torch.zeros(16)
        self.large = torch.zeros(1 << 20)
        self.transform: Any = Scale(1.0)
        self.cache: dict[int, float] = {}

    def __len__(self) -> int:
        return 16

    def __getitem__(self, index: int) -> torch.Tensor:
        drawn = self.cache.setdefault(index, random.random())
        value = self.table[self.rows[index]] + self.options["offset"] + self.large[0] + drawn
        return self.transform(value) + self.level * torch.rand(1)  # type: ignore[no-any-return]


def _rows(data: Numbers) -> None:
    data.rows = [index // 2 for index in range(16)]
    data.table[:] = torch.arange(16.0)


CHANGES: dict[str, tuple[Callable[[Numbers], object], set[str]]] = {
    "attribute": (lambda data: setattr(data, "level", 2), {"level"}),
    "new": (lambda data: setattr(data, "another", 2), set()),
    "unread": (lambda data: setattr(data, "unread", 2), set()),
    "entry": (lambda data: data.options.update(offset=1.0), {"options['offset']"}),
    "in place": (lambda data: data.table.add_(torch.arange(16.0)), {"table"}),
    "together": (_rows, {"rows", "table"}),
    "inside": (lambda data: setattr(data.transform, "by", 2.0), {"transform.by"}),
    "another": (lambda data: setattr(data, "transform", torch.negative), {"transform"}),
    "function": (lambda data: setattr(data, "transform", lambda value: -value), {"transform"}),
    "draws": (lambda data: setattr(data, "transform", Scale(1.0)), set()),
    "cache": (lambda data: data.cache.update(dict.fromkeys(range(16), 7.0)), set()),
    "order": (lambda data: data.rows.reverse(), set()),
    "tensor": (lambda data: setattr(data, "large", torch.ones(1 << 20)), {"large"}),
}


def _passes(data: Any, change: Callable[[], object], **options: Any) -> Recorded:
    loader = DataLoader(data, batch_size=4, shuffle=True, num_workers=1, persistent_workers=True, **options)
    with watching(KeptWorkers) as events:
        for number in range(3):
            if number == 1:
                change()
            for _ in loader:
                pass
    return events


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_counts_where_it_makes_other_samples(name: str) -> None:
    data = Numbers()
    change, expected = CHANGES[name]
    state = torch.get_rng_state(), random.getstate()
    events = _passes(Subset(data, range(16)), lambda: change(data))
    assert {each.attribute.removeprefix("dataset.") for each in events.of(WorkersLeftBehind)} == expected
    torch.set_rng_state(state[0]), random.setstate(state[1])


def test_the_change_is_told_with_its_line() -> None:
    data = Numbers()
    (event,) = _passes(data, lambda: setattr(data, "level", 3)).of(WorkersLeftBehind)
    assert (event.before, event.now, event.passes, event.changed_at) == ("1", "3", 2, None)


class Sampler:
    epoch = 0

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch


class Epochs(Numbers):
    def set_epoch(self, epoch: int) -> None:
        self.level = self.epoch = epoch


class Training:
    def __init__(self, data: Numbers) -> None:
        self.data: Any = data
        self.sampler = Sampler()
        self.level = 0

    def by_assignment(self, loader: Any) -> None:
        for epoch in range(2):
            self.data.level = epoch
            self.level = epoch
            list(loader)

    def by_call(self, loader: Any) -> None:
        for epoch in range(2):
            self.data.set_epoch(epoch)
            self.sampler.set_epoch(epoch)
            self.level = epoch
            list(loader)

    def elsewhere(self, loader: Any) -> None:
        for epoch in range(2):
            for method in ("set_epoch",):
                getattr(self.data, method)(epoch)
            list(loader)


@pytest.mark.parametrize(
    ("training", "line"),
    [
        (Training.by_assignment, "self.data.level = epoch"),
        (Training.by_call, "self.data.set_epoch(epoch)"),
        (Training.elsewhere, "self.level = self.epoch = epoch"),
    ],
)
def test_the_line_is_the_one_of_the_data_set(training: Callable[[Training, Any], None], line: str) -> None:
    data = Epochs()
    set_target_folder(str(Path(__file__).parent))
    try:
        with watching(KeptWorkers) as events:
            training(Training(data), DataLoader(data, batch_size=4, num_workers=1, persistent_workers=True))
    finally:
        set_target_folder(None)
    (event,) = events.of(WorkersLeftBehind)
    assert event.changed_at is not None
    assert linecache.getline(event.changed_at.path, event.changed_at.line).strip() == line


def test_nothing_is_tried_that_would_be_seen_outside(tmp_path: Any) -> None:
    class Logging(Numbers):
        def __getitem__(self, index: int) -> torch.Tensor:
            if self.level == 2:
                (tmp_path / "log").write_text("read")
            return super().__getitem__(index)

    data = Logging()
    events = _passes(data, lambda: setattr(data, "level", 2))
    assert [each.reason for each in events.of(InstrumentLimited)] == [
        "whether a change of the data set reaches its workers was not tried: reading writes files, so that they were "
        "not tried"
    ]
    assert not (tmp_path / "log").exists()


class Waiting(Numbers):
    def __init__(self) -> None:
        super().__init__()
        self.lock = multiprocessing.Lock()

    def __getitem__(self, index: int) -> torch.Tensor:
        with self.lock:
            return super().__getitem__(index)


def test_nothing_is_tried_that_could_stop_others() -> None:
    data = Waiting()
    events = _passes(data, lambda: setattr(data, "level", 2))
    assert [each.reason for each in events.of(InstrumentLimited)] == [
        "whether a change of the data set reaches its workers was not tried: it holds a `Lock`, by which processes "
        "wait for one another"
    ]


def test_what_a_worker_is_set_up_with_is_its_own() -> None:
    def set_up(worker: int) -> None:
        get_worker_info().dataset.level = 7  # type: ignore[union-attr]

    data = Numbers()
    assert _passes(data, lambda: setattr(data, "level", 2), worker_init_fn=set_up).of(WorkersLeftBehind) == []


def test_an_order_counts_where_samples_are_read_in_order() -> None:
    data = Numbers()
    data.table[:] = torch.arange(16.0)
    loader = DataLoader(data, batch_size=4, num_workers=1, persistent_workers=True)
    with watching(KeptWorkers) as events:
        for _ in range(2):
            list(loader)
            data.rows.reverse()
    assert [each.attribute for each in events.of(WorkersLeftBehind)] == ["rows"]


def test_workers_are_not_kept() -> None:
    data: Any = Numbers()
    loader: Any = DataLoader(data, batch_size=4, num_workers=1, persistent_workers=True)
    data.owner = {"loader": loader}
    with watching(KeptWorkers):
        list(loader)
        iterator = weakref.ref(loader._iterator)
        loader._iterator = None
        gc.collect()
        assert iterator() is None
