"""Passes over loaders: who reads, how long the first batch takes, and what kept workers would change."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from autograd_doctor.events.efficiency import PassTimed, WorkersKept
from autograd_doctor.events.run import InstrumentLimited
from autograd_doctor.instruments.efficiency import iteration_times, worker_starts
from autograd_doctor.instruments.efficiency.loader_passes import LoaderPasses
from autograd_doctor.instruments.efficiency.worker_starts import WorkerStarts
from autograd_doctor.reading.trials import Undecided
from autograd_doctor.signals.loaders import BatchAsked
from autograd_doctor.signals.signal import Signal
from tests.watching import watching


class Clock:
    """Stands for that of the run."""

    now = 0.0

    def begin(self) -> bool:
        return False

    def end(self) -> None: ...

    def counting(self, action: Callable[[], None]) -> None:
        action()

    def seconds(self) -> float:
        return Clock.now


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(iteration_times, "LookClock", Clock)
    monkeypatch.setattr(Clock, "now", 0.0)


class Samples(Dataset[torch.Tensor]):
    """The first of a pass takes four seconds, each other one a second."""

    def __len__(self) -> int:
        return 6

    def __getitem__(self, index: int) -> torch.Tensor:
        Clock.now += 1.0 if index else 4.0
        return torch.ones(4)


@contextmanager
def hearing(signal: Signal[Any], handle: Callable[[Any], None], order: float = 0.0) -> Iterator[None]:
    signal.connect(handle, owner="test", order=order)
    try:
        yield
    finally:
        signal.disconnect(handle)


def _starting(_: object) -> None:
    """Workers take a second to start."""
    Clock.now += 1.0


def test_a_pass_is_told_by_its_first_batch_and_by_the_others() -> None:
    loader = DataLoader(Samples(), batch_size=2)
    with watching(LoaderPasses) as events:
        for _ in range(2):
            for _ in loader:
                Clock.now += 10.0
    first, second = events.of(PassTimed)
    assert (first.batches, first.workers, first.kept, first.start, first.wait, first.since) == (
        3, 0, False, 5.0, 2.0, None,
    )  # fmt: skip
    assert (second.loader, second.since, second.location) == (first.loader, 39.0, first.location)


def test_a_pass_that_the_program_leaves_is_told_when_the_next_one_begins_or_nothing_comes() -> None:
    with watching(LoaderPasses) as events:
        for _ in range(2):
            for _ in DataLoader(Samples(), batch_size=2):
                break
        assert [each.batches for each in events.of(PassTimed)] == [1]
    assert [(each.loader, each.wait) for each in events.of(PassTimed)] == [(0, None), (1, None)]


def test_a_pass_that_the_doctor_cuts_short_is_not_told() -> None:
    def cut(asked: BatchAsked) -> None:
        asked.only_the_last = True

    with watching(LoaderPasses) as events, hearing(events.session.signals.loaders.asked, cut):
        assert len(list(DataLoader(Samples(), batch_size=2))) == 1
    assert events.of(PassTimed) == []


def test_loaders_are_not_kept() -> None:
    with watching(LoaderPasses):
        loader = DataLoader(Samples(), batch_size=2)
        gone = weakref.ref(loader)
        for _ in loader:
            break
        del loader
        gc.collect()
        assert gone() is None


def _passes(monkeypatch: pytest.MonkeyPatch, times: int, *, seconds: float) -> list[WorkersKept]:
    """Of a loader with a worker, between whose passes so many seconds go by."""
    monkeypatch.setattr(worker_starts, "seconds_with_kept_workers", lambda loader: [0.25])

    with watching(WorkerStarts) as events, hearing(events.session.signals.loaders.began, _starting, 1e9):
        loader = DataLoader(Samples(), batch_size=2, num_workers=1, multiprocessing_context="fork")
        for _ in range(times):
            for _ in loader:
                pass
            Clock.now += seconds
    return events.of(WorkersKept)


def test_workers_are_tried_from_the_second_pass_on_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _passes(monkeypatch, 1, seconds=1.0) == []
    assert [each.ready for each in _passes(monkeypatch, 4, seconds=1.0)] == [[0.25]]


def test_workers_are_not_tried_where_their_start_is_a_trifle(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _passes(monkeypatch, 3, seconds=100.0) == []


def test_what_workers_cannot_read_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(loader: object) -> list[float]:
        raise Undecided("workers fail: ValueError")

    monkeypatch.setattr(worker_starts, "seconds_with_kept_workers", fail)
    with watching(WorkerStarts) as events, hearing(events.session.signals.loaders.began, _starting, 1e9):
        loader = DataLoader(Samples(), batch_size=2, num_workers=1, multiprocessing_context="fork")
        for _ in range(2):
            for _ in loader:
                pass
    assert [each.reason for each in events.of(InstrumentLimited)] == [
        "workers that are kept were not tried: workers fail: ValueError"
    ]
