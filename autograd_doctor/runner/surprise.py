"""Losses that are unlike those before."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass

_MEMORY = 50.0
"""Losses over which averages are taken: so few that they follow a run, so many that one of them says little."""
_ENOUGH = 100
_FAR = 8.0
"""Mean deviations from the mean: that many are as rare as one loss in some thousands even where a few are large."""
_IN_A_ROW = 3
_MOST_LINES = 100


@dataclass(slots=True)
class _Line:
    losses: int = 0
    mean: float = 0.0
    deviation: float = 0.0
    far: int = 0


class Surprises:
    """Follows the losses of each line by averages that forget, as exponential smoothing does."""

    def __init__(self) -> None:
        self._lines: dict[Hashable, _Line] = {}

    def add(self, where: Hashable, loss: float) -> bool:
        """Whether the latest losses of a line, a few in a row, were far from what they used to be."""
        line = self._lines.get(where)
        if line is None:
            if len(self._lines) >= _MOST_LINES:
                return False
            line = self._lines[where] = _Line(mean=loss)
        if not math.isfinite(loss):
            return False
        away = abs(loss - line.mean)
        if line.losses >= _ENOUGH and away > _FAR * line.deviation:
            line.far += 1
            if line.far < _IN_A_ROW:
                return False
            self._lines[where] = _Line(mean=loss)
            return True
        line.far = 0
        weight = 1.0 / min(_MEMORY, line.losses + 1)
        line.losses += 1
        line.mean += weight * (loss - line.mean)
        line.deviation += weight * (away - line.deviation)
        return False
