"""How often to look: at a line a few times, until it was told of a few times; at steps ever more rarely."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from typing import Generic, TypeVar

S = TypeVar("S", bound=Hashable)

_LOOKS = 4
"""In a step, and told of: what is wrong at a line is so from the start."""
_GOLDEN = (5**0.5 - 1) / 2
"""No multiples are spread more evenly: programs that do something in every third step, or every fourth, are told of."""
_MOST_SITES = 1000
"""To be told apart: more come of code that is made anew all the time."""
_DRAWN_FIRST, _DRAWN_OF = 8, 8
"""Steps of which each is drawn, then one in so many."""
_DRAWN_IN_A_STRETCH = 8
"""At most, of the steps between 128 and 256, 256 and 512, and so on."""


def is_drawn_in_pairs(step: int, share: float) -> bool:
    """Whether a step, or the one before it, is of this share of all steps, as those of a smaller share are, too."""
    return step * _GOLDEN % 1.0 < share or (step - 1) * _GOLDEN % 1.0 < share


def is_drawn(step: int, before: int | None = None) -> bool:
    """Whether what is measured for a drawing alone is measured in this step, the first of which is 1.

    before: the last one in which this was asked, where that is not done in each.
    """
    stretch = 1 << (step - 1).bit_length()
    stride = max(_DRAWN_OF, stretch // 2 // _DRAWN_IN_A_STRETCH)
    return step <= _DRAWN_FIRST or step // stride > (step - 1 if before is None else before) // stride


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
