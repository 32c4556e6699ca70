"""Numbers of the program that are others from step to step, so that nobody can have written them down."""

from __future__ import annotations

from autograd_doctor.reading.linear import is_plain
from autograd_doctor.reading.places import Place

_MOST_LINES = 1000
_MOST_VALUES = 64
"""Of a line: those of a schedule that begins anew come back sooner or later."""


class ChangingNumbers:
    """What came at the lines of a program so far."""

    def __init__(self) -> None:
        self._values: dict[Place | None, set[float]] = {}

    def met(self, place: Place | None, value: float) -> bool | None:
        """Whether a number is another one than those that came at a line before; None where it is the first."""
        if is_plain(value) or (place not in self._values and len(self._values) >= _MOST_LINES):
            return False
        known = self._values.setdefault(place, set())
        is_first, is_new = not known, value not in known
        if len(known) < _MOST_VALUES:
            known.add(value)
        return None if is_first else is_new
