"""Which samples the newest batches of two loaders consist of."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils.data import DataLoader

from autograd_doctor.reading.newest_batches import NewestBatches

DATA: Any = torch.arange(4)


class Iterator:
    def __init__(self) -> None:
        self._sampler_iter = object()


def drawn(*indices: Any, shuffle: tuple[bool, bool] = (True, True)) -> NewestBatches:
    """After a batch of each of two loaders."""
    newest = NewestBatches()
    iterators = [Iterator() for _ in indices]
    for number, (iterator, index) in enumerate(zip(iterators, indices, strict=True)):
        newest.began(iterator, number, DataLoader(DATA, shuffle=shuffle[number]))
        newest.asked(iterator, index)
        newest.came(iterator)
    return newest


def test_orders_are_equal_for_the_same_samples() -> None:
    one, other = drawn([3, 0], [3, 0]).orders(0, 1, rows=2) or (0, 1)
    assert one == other
    one, other = drawn([3, 0], [0, 3], shuffle=(False, True)).orders(0, 1, rows=2) or (0, 0)
    assert one != other


def test_what_is_not_known_has_no_order() -> None:
    assert drawn([3, 0], [0, 3], shuffle=(False, False)).orders(0, 1, rows=2) is None
    assert drawn([3, 0], [0, 3]).orders(0, 1, rows=3) is None
    assert drawn([3, 0], [0]).orders(0, 1, rows=2) is None
    assert drawn([3, 0], ["a", "b"]).orders(0, 1, rows=2) is None
    assert drawn([3, 0], [0, 3]).orders(0, 2, rows=2) is None


def test_only_the_newest_counts() -> None:
    newest, iterator = drawn([1, 2], [1, 2]), Iterator()
    newest.began(iterator, 1, DataLoader(DATA, shuffle=True))
    newest.asked(iterator, [0, 3])
    one, other = newest.orders(0, 1, rows=2) or (0, 1)
    assert one == other
    newest.came(iterator)
    one, other = newest.orders(0, 1, rows=2) or (0, 0)
    assert one != other
