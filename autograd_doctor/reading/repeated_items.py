"""Whether a data set gives the same for the same sample each time: some are read twice, in a process of its own."""

from __future__ import annotations

import random
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch.utils.data import DataLoader, Dataset

from autograd_doctor.clock import CLOCK
from autograd_doctor.reading.tensors_in import EVERYTHING, tensors_in
from autograd_doctor.reading.transfers import bytes_of
from autograd_doctor.reading.unnoticed import unnoticed
from autograd_doctor.reading.watched_workers import WatchedWorkers, undecided_if_workers_fail

_FEWEST, _MOST = 4, 32
"""Samples."""


class Reread(NamedTuple):
    """A sample that was read twice. same: to the last bit, without a random number from the generators that all share.

    first, again: seconds. bytes: of its tensors and arrays.
    """

    same: bool
    first: float
    again: float
    bytes: int


class _Twice(Dataset[Reread]):
    """Reads samples of another data set twice."""

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset

    def __getitem__(self, index: int) -> Reread:
        state = _random_state()
        began = CLOCK.perf_counter()
        one = self._dataset[index]
        between = CLOCK.perf_counter()
        other = self._dataset[index]
        ended = CLOCK.perf_counter()
        is_same = is_the_same(one, other) and is_the_same(state, _random_state())
        return Reread(is_same, between - began, ended - between, _bytes_of(one))


def reread(loader: DataLoader[Any], one: float, budget: float) -> list[Reread]:
    """Some samples of a map-style data set, evenly from all of it, by a worker. one: seconds that a sample takes.

    budget: seconds that it may take, roughly. Raises `Undecided` where the worker fails.
    """
    dataset: Any = loader.dataset
    count = min(len(dataset), max(_FEWEST, min(_MOST, int(budget / max(2 * one, 1e-6)))))
    watched = WatchedWorkers(loader.worker_init_fn)
    with unnoticed(), undecided_if_workers_fail(watched):
        reading = DataLoader(
            _Twice(dataset),
            batch_size=None,
            sampler=[len(dataset) * number // count for number in range(count)],
            num_workers=1,
            **watched.options,
        )
        return list(reading)


def _random_state() -> Any:
    numpy = sys.modules.get("numpy")
    return torch.random.get_rng_state(), random.getstate(), numpy.random.get_state() if numpy else None


def is_the_same(one: Any, other: Any) -> bool:
    """Whether two values are equal to the last bit; of objects that are no plain data this is not known, nor said."""
    kind = type(one)
    if kind is not type(other):
        return False
    if isinstance(one, torch.Tensor):
        return one.dtype == other.dtype and one.shape == other.shape and torch.equal(bytes_of(one), bytes_of(other))
    if isinstance(one, Mapping):
        return one.keys() == other.keys() and all(is_the_same(value, other[key]) for key, value in one.items())
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(is_the_same, one, other))
    if kind.__module__ == "numpy":
        return bool(one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes())
    return one is None or (kind in (int, float, bool, str, bytes) and bool(one == other))


def _bytes_of(item: Any) -> int:
    return sum(tensor.nbytes for tensor in tensors_in([item], EVERYTHING))
