"""How fast a loader would be with workers: the same data set, read in processes of its own for a moment."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

from torch.utils.data import BatchSampler, DataLoader, IterableDataset
from torch.utils.data.dataloader import default_collate

from autograd_doctor.clock import CLOCK
from autograd_doctor.reading.ties import live_source
from autograd_doctor.reading.trials import Undecided
from autograd_doctor.reading.unnoticed import unnoticed
from autograd_doctor.reading.watched_workers import WatchedWorkers, undecided_if_workers_fail
from autograd_doctor.reading.without_running import is_a

_FEWEST, _MOST = 6, 40
"""Batches that are timed, after those that the workers begin with."""
_FEWEST_PASSES, _MOST_PASSES = 2, 5
"""With workers that are kept, after the first, in which they start."""
_PART = 4
"""One in so many samples of a data set is read at most, if these are enough batches: others may have to be paid for."""


def obstacle(loader: DataLoader[Any]) -> str:
    """Why workers cannot be tried for a loader; "" where nothing stands in the way."""
    if not is_a(loader.dataset, IterableDataset) and type(loader.batch_sampler) is not BatchSampler:
        return "it does not say in advance what a batch consists of"
    if "fork" not in multiprocessing.get_all_start_methods():
        return "this system cannot fork"
    if source := live_source(loader.dataset):
        return f"reading uses {source}, which processes cannot share"
    return ""


class _Batches:
    """The batches that come next in the order of the data set, round and round: reading decides, not which samples."""

    def __init__(self, loader: DataLoader[Any], count: int) -> None:
        dataset: Any = loader.dataset
        self._samples = max(1, len(dataset))
        self._size = loader.batch_size or 1
        self._count = count
        self._drawn = 0

    def __iter__(self) -> Iterator[list[int]]:
        for _ in range(self._count):
            first = self._size * self._drawn
            self._drawn += 1
            yield [(first + position) % self._samples for position in range(self._size)]

    def __len__(self) -> int:
        return self._count


def seconds_of_a_batch(loader: DataLoader[Any], workers: int, alone: float, budget: float) -> float:
    """The time between two batches with so many workers, if nobody else took any. alone: what one takes without.

    budget: seconds that it may take, roughly. Raises `Undecided` where the workers fail, as where the data set cannot
    be read there, and where each of them would read the whole of an iterable one.
    """
    ahead = 2 * workers + 1
    timed = max(_FEWEST, min(_MOST, int(budget * workers / max(alone, 1e-6)), _batches_of_a_part(loader) - ahead))
    with _read_by(loader, workers, ahead + timed) as (tried, watched):
        batches = iter(tried)
        _count(batches, ahead)
        if is_a(loader.dataset, IterableDataset) and not watched.asked:
            raise Undecided("each would read all samples: none asked `get_worker_info` for its `id` and `num_workers`")
        began = CLOCK.perf_counter()
        if (timed := _count(batches, timed)) < _FEWEST:
            raise Undecided("there are too few batches to time them")
        return (CLOCK.perf_counter() - began) / timed


def _count(batches: Iterator[Any], most: int) -> int:
    """Draw so many batches; the number of those that there were."""
    return sum(1 for _ in islice(batches, most))


def _batches_of_a_part(loader: DataLoader[Any]) -> int:
    """How many may be read of a data set that says how many samples it has; of any other, as many as are timed."""
    dataset: Any = loader.dataset
    if is_a(dataset, IterableDataset):
        return _MOST
    return len(dataset) // (_PART * (loader.batch_size or 1))


def seconds_with_kept_workers(loader: DataLoader[Any], budget: float) -> list[float]:
    """From asking for a pass to its first batch, if the workers of the loader were there already, in several passes.

    Each reads other samples, so that none is read from a cache that the program would not find. budget: seconds after
    which no further pass begins, but for the fewest. Raises `Undecided` where the workers fail.
    """
    found: list[float] = []
    with _read_by(loader, loader.num_workers, loader.num_workers, kept=True) as (tried, _):
        began = CLOCK.perf_counter()
        _until_the_first(tried)
        while len(found) < _MOST_PASSES:
            if len(found) >= _FEWEST_PASSES and CLOCK.perf_counter() - began >= budget:
                break
            found.append(_until_the_first(tried))
    return found


def _until_the_first(tried: DataLoader[Any]) -> float:
    began = CLOCK.perf_counter()
    batches = iter(tried)
    next(batches)
    took = CLOCK.perf_counter() - began
    for _ in batches:
        pass
    return took


@contextmanager
def _read_by(
    loader: DataLoader[Any], workers: int, batches: int, *, kept: bool = False
) -> Iterator[tuple[DataLoader[Any], WatchedWorkers]]:
    """A block in which the data set of a loader is read by other workers, so many batches in each pass."""
    watched = WatchedWorkers(loader.worker_init_fn)
    streams = is_a(loader.dataset, IterableDataset)
    with unnoticed():
        tried: DataLoader[Any] = DataLoader(
            loader.dataset,
            **({"batch_size": loader.batch_size} if streams else {"batch_sampler": _Batches(loader, batches)}),
            num_workers=workers,
            collate_fn=loader.collate_fn if streams else loader.collate_fn or default_collate,
            persistent_workers=kept,
            **watched.options,
        )
        with undecided_if_workers_fail(watched):
            yield tried, watched
