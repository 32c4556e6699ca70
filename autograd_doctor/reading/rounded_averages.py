"""Averages in half precision: whether what each update adds to them is lost to rounding."""

from __future__ import annotations

from typing import NamedTuple

import torch

from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.tensor_facts import readable

_MOST = 4096
"""Numbers of an average that are looked at."""
_FAR = 2.0
"""Units in the last place by which a number should have moved: rounding takes half of one from each update."""
_OFTEN = 0.6
"""Share of the looks that must show an update: a look may end before it."""
_FEWEST_STEPS = 20
"""Steps after which that is asked."""


def is_coarse(tensor: torch.Tensor) -> bool:
    """Whether its numbers have half the precision of float32 or less."""
    return tensor.is_floating_point() and torch.finfo(tensor.dtype).bits <= 16 and readable(tensor)


class _First(NamedTuple):
    """What an average was when it was seen first, of how many looks that was the first, and the steps before it."""

    numbers: torch.Tensor
    look: int
    step: int


class RoundedAverages:
    """Compares averages with what they were when they were seen first."""

    def __init__(self) -> None:
        self._first: IdentityTable[_First] = IdentityTable()
        self._seen: IdentityTable[int] = IdentityTable()

    def since(self, average: torch.Tensor) -> int:
        """The steps that had been taken when it was seen first."""
        first = self._first.get(average)
        return first.step if first is not None else 0

    def look(
        self, average: torch.Tensor, weights: torch.Tensor | None, new: float, *, look: int, step: int
    ) -> torch.Tensor | None:
        """How many numbers should have moved far by now, and how many of these are the same to the bit: two numbers,
        where the average is. None at the first looks, and of one that is not brought up to date in each step.

        new: the share of the weights in each update. look: how many steps have been looked at, and step: were taken.
        """
        if weights is None or weights.shape != average.shape or not readable(weights):
            return None
        numbers = average.detach().reshape(-1)[:_MOST]
        first, seen = self._first.get(average), (self._seen.get(average) or 0) + 1
        self._seen.put(average, seen)
        if first is None:
            self._first.put(average, _First(numbers.clone(), look, step))
            return None
        is_often = seen >= _OFTEN * (look - first.look + 1)
        if not is_often or step - first.step < _FEWEST_STEPS:
            return None
        before = first.numbers.float()
        away = (weights.detach().reshape(-1)[:_MOST].float() - before).abs()
        due = new * (step - first.step) * away >= _FAR * torch.finfo(average.dtype).eps * before.abs()
        due &= (away > 0) & (before != 0)
        return torch.stack([due.sum(), (due & (numbers == first.numbers)).sum()])
