"""How fast a loader would be with workers: the same data set, read in processes of its own for a moment."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from typing import Any

from torch.utils.data import BatchSampler, DataLoader, IterableDataset
from torch.utils.data.dataloader import default_collate

from autograd_doctor.clock import CLOCK
from autograd_doctor.reading.trials import Undecided
from autograd_doctor.reading.unnoticed import unnoticed
from autograd_doctor.reading.without_running import is_a

_FEWEST, _MOST = 6, 40
"""Batches that are timed, after those that the workers begin with."""
_PATIENCE = 20
"""Seconds to wait for one batch."""


def obstacle(loader: DataLoader[Any]) -> str:
    """Why workers cannot be tried for a loader; "" where nothing stands in the way."""
    if loader.num_workers:
        return "it has workers"
    if is_a(loader.dataset, IterableDataset) or type(loader.batch_sampler) is not BatchSampler:
        return "it does not say in advance what a batch consists of"
    if "fork" not in multiprocessing.get_all_start_methods():
        return "this system cannot fork"
    return ""


class _Batches:
    """The first batches in the order of the data set, round and round: reading decides, not which samples."""

    def __init__(self, samples: int, size: int, count: int) -> None:
        self._samples = samples
        self._size = size
        self._count = count

    def __iter__(self) -> Iterator[list[int]]:
        for batch in range(self._count):
            yield [(batch * self._size + position) % self._samples for position in range(self._size)]

    def __len__(self) -> int:
        return self._count


def seconds_of_a_batch(loader: DataLoader[Any], workers: int, alone: float, budget: float) -> float:
    """The time between two batches with so many workers, if nobody else took any. alone: what one takes without.

    budget: seconds that it may take, roughly. Raises `Undecided` where the workers fail, as where the data set cannot
    be read there.
    """
    timed = max(_FEWEST, min(_MOST, int(budget * workers / max(alone, 1e-6))))
    ahead = 2 * workers + 1
    with unnoticed():
        tried: DataLoader[Any] = DataLoader(
            loader.dataset,
            batch_sampler=_Batches(_length(loader), loader.batch_size or 1, ahead + timed),
            num_workers=workers,
            collate_fn=loader.collate_fn or default_collate,
            timeout=_PATIENCE,
            worker_init_fn=loader.worker_init_fn,
            multiprocessing_context="fork",
        )
        try:
            return _timed(iter(tried), ahead, timed)
        except Exception as error:
            raise Undecided(f"workers fail: {type(error).__name__}") from None


def _length(loader: DataLoader[Any]) -> int:
    dataset: Any = loader.dataset
    return max(1, len(dataset))


def _timed(batches: Iterator[Any], ahead: int, timed: int) -> float:
    for _ in range(ahead):
        next(batches)
    began = CLOCK.perf_counter()
    for _ in range(timed):
        next(batches)
    return (CLOCK.perf_counter() - began) / timed
