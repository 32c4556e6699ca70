"""Scores of rows against columns: has the one that a row is to find another column with the same score?"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import torch

_MOST_ROWS, _FEWEST_ROWS, _MOST_READ = 64, 8, 2**20
_MASKED = -9e3
"""A score no greater than this is ruled out: masks of half precision are written as -1e4."""
_ROUNDING = 1e-5
"""Of the spread of a row: two kernels that compute one product may differ by so much."""
_APART = 0.05
"""Of the mean distance of scores from one another: by chance, few are as near to a given one."""
_CONTROLS = 4


def sampled(tensor: torch.Tensor, columns: int | None = None) -> torch.Tensor:
    """Some rows from all over the batch: the same ones of all tensors that go with scores of so many columns."""
    most = max(_FEWEST_ROWS, min(_MOST_ROWS, _MOST_READ // (columns or tensor.shape[1])))
    return tensor[:: max(1, len(tensor) // most)][:most]


def compare(
    scores: torch.Tensor, positives: torch.Tensor, sizes: Sequence[int], *, only_equal: bool, one_source: bool = False
) -> torch.Tensor | None:
    """Four shares, left where the scores are, None if that is the CPU, `only_equal`, and too few are equal.

    The rows in which another column has the score of the positive's (-1: none); the other columns that have such a twin
    in their own part; of those rows, the ones in which the columns are equal for other rows as well; and of those, the
    most that share one score of their positive. one_source: the score of the positive was taken from those of others,
    as the edge is that pads a row.
    """
    rows = _Rows(scores, positives, sizes)
    repeated = rows.tied.sum() / rows.is_valid.sum().clamp(min=1)
    if only_equal and scores.device.type == "cpu" and not repeated > 0.5:
        return None
    return torch.stack([repeated, rows.by_chance(), rows.fixed(one_source=one_source), rows.level()])


class _Rows:
    """What is equal in each row up to rounding, masked scores aside."""

    def __init__(self, scores: torch.Tensor, positives: torch.Tensor, sizes: Sequence[int]) -> None:
        self.is_valid, self.own = positives >= 0, positives.clamp(min=0)
        self.values = scores.detach().float()
        self.is_open = self.values.isfinite() & (self.values > _MASKED)
        low = self.values.where(self.is_open, torch.inf).amin(1)
        spread = self.values.where(self.is_open, -torch.inf).amax(1) - low
        count = self.is_open.sum(1)
        self.tolerance = torch.minimum(self._rounding(scores.dtype, spread), _APART * spread / count.clamp(min=1))
        bounds = [sum(sizes[: place + 1]) for place in range(len(sizes) - 1)]
        number = torch.arange(scores.shape[1], device=scores.device)
        self.part = reduce(lambda part, bound: part + (number >= bound), bounds, torch.zeros_like(number))
        self.twins = self._near(self.own)
        several = self.twins.sum(1)
        is_usable = self.is_valid & _at(self.is_open, self.own) & (spread > 0) & (count > several + 1)
        self.tied = is_usable & (several > 0) & (several <= (count // 4).clamp(min=1))

    def by_chance(self) -> torch.Tensor:
        """Asked of a few columns, others for each row, those aside that are equal to the positive's."""
        columns = self.values.shape[1]
        row = torch.arange(len(self.own), device=self.own.device)
        asked = twins = torch.zeros((), device=self.values.device)
        for step in {max(1, place * columns // (_CONTROLS + 1)) for place in range(1, _CONTROLS + 1)}:
            other = (self.own + 1 + (step + row) % (columns - 1)) % columns
            is_asked = self.tied & _at(self.is_open, other) & ~_at(self.twins, other)
            is_near = (self._near(other) & (self.part == self.part[other][:, None])).any(1)
            asked, twins = asked + is_asked.sum(), twins + (is_asked & is_near).sum()
        return torch.where(asked > 0, twins / asked.clamp(min=1), 1.0)

    def fixed(self, *, one_source: bool) -> torch.Tensor:
        """No columns are classes where that of the positive is always the same, or another one for each row, in another
        part than its twin."""
        twin = self.twins.int().argmax(1)
        after, tolerance = self.values.roll(-1, 0), self.tolerance.roll(-1)
        is_fixed = (_at(after, self.own) - _at(after, twin)).abs() <= tolerance
        part = self.part[self.own]
        is_own = (self.own[:, None] == self.own).sum(1) == 1
        is_joined = (part != self.part[twin]) & self._is_one(part)
        is_no_class = (is_joined & is_own) | self._is_one(self.own)
        return self._share(is_fixed if one_source else is_fixed & ~is_no_class)

    def level(self) -> torch.Tensor:
        own = _at(self.values, self.own)
        equal = (own[:, None] - own).abs() <= self.tolerance[:, None]
        return (equal & self.tied & self.tied[:, None]).sum(1).amax() / self.tied.sum().clamp(min=1)

    def _rounding(self, dtype: torch.dtype, spread: torch.Tensor) -> torch.Tensor:
        half = torch.finfo(dtype).eps if dtype in (torch.float16, torch.bfloat16) else 0.0
        return torch.maximum(_ROUNDING * spread, half * _at(self.values, self.own).abs())

    def _near(self, column: torch.Tensor) -> torch.Tensor:
        near = (self.values - _at(self.values, column)[:, None]).abs() <= self.tolerance[:, None]
        return (near & self.is_open).scatter(1, column[:, None], False)

    def _is_one(self, numbers: torch.Tensor) -> torch.Tensor:
        """Whether a number is the same for all rows in which something is equal."""
        return numbers.where(self.tied, numbers.amax()).amin() == numbers.where(self.tied, numbers.amin()).amax()

    def _share(self, which: torch.Tensor) -> torch.Tensor:
        return (which & self.tied).sum() / self.tied.sum().clamp(min=1)


def _at(values: torch.Tensor, column: torch.Tensor) -> torch.Tensor:
    return values.gather(1, column[:, None])[:, 0]
