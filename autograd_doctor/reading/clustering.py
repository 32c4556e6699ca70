"""How much classes keep together in batches, beside what chance would do."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple


class Clustering(NamedTuple):
    """Pairs of one class within a batch. share: 0 as in shuffled data, 1 as in sorted ones. deviations: of chance."""

    share: float = 0.0
    deviations: float = 0.0


def clustering(batches: Sequence[Counter[int]]) -> Clustering:
    """Compare the pairs of one class within batches with those that shuffling all their samples would leave.

    That each batch is sorted says nothing, nor that classes are rare: only which come together counts.
    """
    sizes = [batch.total() for batch in batches]
    classes: Counter[int] = Counter()
    for batch in batches:
        classes.update(batch)
    everything = _pairs(sum(sizes))
    within, same = sum(map(_pairs, sizes)), sum(map(_pairs, classes.values()))
    if not everything or not same or len(classes) < 2 or within == everything:
        return Clustering()
    found = sum(_pairs(count) for batch in batches for count in batch.values())
    chance = same * within / everything
    most = _most(sorted(classes.values(), reverse=True), round(sum(sizes) / len(sizes)))
    spread = math.sqrt(chance * (1 - same / everything))
    if most <= chance or not spread:
        return Clustering()
    return Clustering((found - chance) / (most - chance), (found - chance) / spread)


def _pairs(count: int) -> float:
    return count * (count - 1) / 2


def _most(counts: Sequence[int], size: int) -> float:
    """The pairs if each class filled as few batches of this size as it can."""
    return sum((count // size) * _pairs(size) + _pairs(count % size) for count in counts)
