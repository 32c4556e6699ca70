"""Passes over loaders: who reads for them, and how long the first batch takes, and another one."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from autograd_doctor.events.efficiency import PassTimed
from autograd_doctor.instruments.efficiency import iteration_times
from autograd_doctor.instruments.efficiency.loader_passes import LoaderPasses
from autograd_doctor.signals.loaders import BatchAsked
from autograd_doctor.signals.signal import Signal
from tests.instruments.test_iteration_times import Clock
from tests.watching import watching


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


def test_a_pass_is_told_by_its_first_batch_and_by_the_others() -> None:
    loader = DataLoader(Samples(), batch_size=2)
    with watching(LoaderPasses) as events:
        for passes in range(2):
            for _ in loader:
                Clock.now += 10.0
            assert len(events.of(PassTimed)) == passes + 1
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
