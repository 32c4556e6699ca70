"""Averages of weights that a program keeps by itself, of which each model has the same part."""

from __future__ import annotations

from collections.abc import Sequence
from math import isclose
from typing import NamedTuple

import torch

from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.tensor_facts import are_equal, readable

_ROUNDING = 1e-6
_APART = 2
"""Steps, at least, from one model to the next. One of each step, from the first on, may be the warm-up of a moving
average, which lets the first weights go faster."""


class _Heard(NamedTuple):
    """After which steps, and of how many models, an update was the first and the newest that was heard."""

    first: tuple[int, int]
    last: tuple[int, int]
    is_equal: bool

    @property
    def models(self) -> int:
        steps, models = (new - old for new, old in zip(self.last, self.first, strict=True))
        return self.last[1] if self.is_equal and models > 0 and steps >= _APART * models else 0


class EqualAverages:
    """Tensors that are written by what they keep of themselves and take of a parameter: n - 1 parts and one."""

    def __init__(self) -> None:
        self._heard: IdentityTable[_Heard] = IdentityTable()

    def hear(self, average: torch.Tensor, own: float, new: float, *, step: int) -> None:
        models = round(1 / new) if new > 0 else 0
        is_equal = models > 0 and isclose(models * new, 1, rel_tol=_ROUNDING) and isclose(own + new, 1)
        known, now = self._heard.get(average), (step, models)
        first, was_equal = (known.first, known.is_equal) if known is not None else (now, True)
        self._heard.put(average, _Heard(first, now, is_equal and was_equal))

    def models_in(self, weights: Sequence[torch.Tensor]) -> int:
        """Of how many models all of these are such averages now, or hold the values of some; 0 if they are none."""
        living = [(average, heard.models) for average, heard in self._heard.items() if heard.models]
        if not living:
            return 0
        models = []
        for each in weights:
            models.append(next((count for average, count in living if is_same(each, average)), 0))
            if not models[-1]:
                return 0
        return min(models, default=0)


def is_same(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors hold the same values, on the same device."""
    are_at_hand = one.device == other.device and readable(one) and readable(other)
    return one is other or (are_at_hand and are_equal(one, other))
