"""Where passes wait long for their first batch, workers that are kept are tried."""

from __future__ import annotations

import pytest
from torch.utils.data import DataLoader

from autograd_doctor.events.efficiency import WorkersKept
from autograd_doctor.events.run import InstrumentLimited
from autograd_doctor.instruments.efficiency import iteration_times, worker_starts
from autograd_doctor.instruments.efficiency.worker_starts import WorkerStarts
from autograd_doctor.reading.trials import Undecided
from tests.instruments.test_iteration_times import Clock
from tests.instruments.test_loader_passes import Samples, hearing
from tests.watching import watching


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(iteration_times, "LookClock", Clock)
    monkeypatch.setattr(Clock, "now", 0.0)


def _starting(_: object) -> None:
    """Workers take a second to start."""
    Clock.now += 1.0


def _passes(monkeypatch: pytest.MonkeyPatch, times: int, *, seconds: float) -> list[WorkersKept]:
    """Of a loader with a worker, between whose passes so many seconds go by."""
    monkeypatch.setattr(worker_starts, "seconds_with_kept_workers", lambda loader, budget: [0.25])

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
    def fail(loader: object, budget: float) -> list[float]:
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
