"""Which samples the newest batch of each loader consists of."""

from __future__ import annotations

from typing import Any

from torch.utils.data import DataLoader, RandomSampler, SubsetRandomSampler

from autograd_doctor.reading.asked_indices import AskedIndices
from autograd_doctor.reading.numbers import IdentityTable

_AT_RANDOM = (RandomSampler, SubsetRandomSampler)


class NewestBatches:
    """Loaders are told by their numbers."""

    def __init__(self) -> None:
        self._asked = AskedIndices()
        self._loaders: IdentityTable[int] = IdentityTable()
        self._indices: dict[int, list[int]] = {}
        self._at_random: set[int] = set()

    def began(self, iterator: Any, number: int, loader: DataLoader[Any]) -> None:
        self._loaders.put(iterator, number)
        if type(loader.sampler) in _AT_RANDOM:
            self._at_random.add(number)

    def asked(self, iterator: Any, index: Any) -> None:
        self._asked.note(iterator, index)

    def came(self, iterator: Any) -> None:
        number, index = self._loaders.get(iterator), self._asked.of_next(iterator)
        if number is not None:
            is_known = type(index) is list and all(type(each) is int for each in index)
            self._indices[number] = index if is_known else []

    def drawn_at_random(self, number: int) -> list[int]:
        """The samples of the newest batch of a loader that draws at random; none where they are unknown."""
        return self._indices.get(number, []) if number in self._at_random else []

    def orders(self, one: int, other: int, rows: int) -> tuple[int, int] | None:
        """Numbers for the samples of two batches of so many rows, equal for equal ones; None where any are unknown, or
        neither loader draws at random."""
        samples = self._indices.get(one, []), self._indices.get(other, [])
        if {len(each) for each in samples} != {rows} or self._at_random.isdisjoint((one, other)):
            return None
        return hash(tuple(samples[0])), hash(tuple(samples[1]))
