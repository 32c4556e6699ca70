"""Long rows of numbers cut down to what can be seen of them."""

from __future__ import annotations

import math
from collections.abc import Sequence

Point = tuple[int, float]


def thinned(points: Sequence[Point], most: int) -> list[Point]:
    """At most so many points in their order: the first, the last, and of each part between its lowest and its highest.

    What is not finite is higher than all that is.
    """
    if len(points) <= most:
        return list(points)
    inner, kept = points[1:-1], [points[0]]
    parts = max(1, (most - 2) // 2)
    for part in range(parts):
        some = inner[len(inner) * part // parts : len(inner) * (part + 1) // parts]
        low, high = (choose(range(len(some)), key=lambda at: height(some[at][1])) for choose in (min, max))
        kept += [some[at] for at in sorted({low, high})]
    return [*kept, points[-1]]


def height(value: float) -> float:
    """The value itself, infinite if it is not finite."""
    return value if math.isfinite(value) else math.inf


def spans(steps: Sequence[int], most: int) -> list[list[int]]:
    """First and last of each stretch of steps, which are in order; where there are too many, gaps are closed."""
    gap = 1
    while True:
        found: list[list[int]] = []
        for step in steps:
            if found and step - found[-1][1] <= gap:
                found[-1][1] = step
            else:
                found.append([step, step])
        if len(found) <= most:
            return found
        gap *= 2
