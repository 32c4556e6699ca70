"""Losses that leave their course: other ones than before, or such that hardly differ any more."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, field

_TOGETHER = 16
"""Losses of which one mean is taken: so few that they tell of news soon, so many that one of them says little."""
_MEMORY, _ENOUGH = 8, 4
"""Such means that make a course, and those from which on there is one."""
_FAR = 2.5
"""Mean deviations by which a mean is off: that of 16 losses of one course is off by a third of one, and where losses
fall steadily by one."""
_OFTEN, _MOST, _FADES = 1.5, 20.0, 0.97
"""How many times as far they must be off after they were, that many deviations at most, and how much of that is left
with each mean since: for some, as what one agent earns, it is nothing new."""
_FAINT = 0.2
"""Of the steps from one loss to the next, as large a part as they come to where nothing differs any more."""
_MOST_LINES = 100


@dataclass(slots=True)
class _Losses:
    """Some losses: their mean, how far they lie from the course, and how far each lies from the one before."""

    mean: float = 0.0
    deviation: float = 0.0
    difference: float = 0.0

    def move(self, other: _Losses, weight: float) -> None:
        self.mean += weight * (other.mean - self.mean)
        self.deviation += weight * (other.deviation - self.deviation)
        self.difference += weight * (other.difference - self.difference)


@dataclass(slots=True)
class _Line:
    last: float
    course: _Losses = field(default_factory=_Losses)
    means: int = 0
    latest: _Losses = field(default_factory=_Losses)
    count: int = 0
    far: float = _FAR
    """Mean deviations by which a mean is to be off."""

    def add(self, loss: float) -> bool:
        """Whether it is the last of some that are off."""
        self.count += 1
        of = loss, abs(loss - (self.course.mean if self.means else self.last)), abs(loss - self.last)
        self.latest.move(_Losses(*of), 1.0 / self.count)
        self.last = loss
        if self.count < _TOGETHER:
            return False
        is_off = self.means >= _ENOUGH and self._is_off()
        self.means = 1 if is_off else self.means + 1
        self.course.move(self.latest, 1.0 / min(_MEMORY, self.means))
        self.count = 0
        return is_off

    def _is_off(self) -> bool:
        off = min(_MOST, abs(self.latest.mean - self.course.mean) / (self.course.deviation or math.ulp(0.0)))
        self.far = max(_FAR, _FADES * self.far)
        is_far = off > self.far
        if is_far:
            self.far = _OFTEN * off
        return is_far or self.latest.difference < _FAINT * self.course.difference


class Surprises:
    """Follows the losses of each line of the program."""

    def __init__(self) -> None:
        self._lines: dict[Hashable, _Line] = {}

    def add(self, where: Hashable, loss: float) -> bool:
        """Whether with this loss those of a line have left their course; they are on a new one from then on."""
        if not math.isfinite(loss):
            return False
        line = self._lines.get(where)
        if line is None:
            if len(self._lines) >= _MOST_LINES:
                return False
            line = self._lines[where] = _Line(loss)
        return line.add(loss)
