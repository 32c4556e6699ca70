"""How often each line is looked at: a few times in a step, until it was told of a few times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from typing import Generic, TypeVar

S = TypeVar("S", bound=Hashable)

_LOOKS = 4
"""In a step, and told of: what is wrong at a line is so from the start."""
_MOST_SITES = 1000
"""To be told apart: more come of code that is made anew all the time."""


class Looks(Generic[S]):
    """What is looked at in vain, as a loss that is computed for the eye, has not used up the looks at its line."""

    def __init__(self) -> None:
        self._looks: Counter[S] = Counter()
        self._told: Counter[S] = Counter()

    def step_taken(self) -> None:
        self._looks.clear()

    def take(self, site: S) -> bool:
        """Whether to look once more."""
        if self._told[site] >= _LOOKS or (site not in self._looks and len(self._looks) >= _MOST_SITES):
            return False
        self._looks[site] += 1
        return self._looks[site] <= _LOOKS

    def told(self, site: S) -> None:
        """What was seen there was stated."""
        self._told[site] += 1
