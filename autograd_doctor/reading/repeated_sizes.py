"""How large results become that one line makes over and over in a step, as a loop over time does."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

from autograd_doctor.events.numerics import GrownWithin
from autograd_doctor.reading.places import Place, locate

_LEAST_CALLS = 8
_LEAST_GROWTH = 1e6
_MOST_LINES = 1000


@dataclass(slots=True)
class _Line:
    """Sizes: at the calls 1, 2, 4, 8 and so on."""

    calls: int = 0
    sizes: list[float] = field(default_factory=list)
    last: float = 0.0


class RepeatedSizes:
    """Sizes are those of the mean of a result."""

    def __init__(self) -> None:
        self._lines: dict[tuple[Place | None, str], _Line] = {}

    def note(self, place: Place | None, operation: str, size: float) -> None:
        line = self._lines.get((place, operation))
        if line is None:
            if len(self._lines) >= _MOST_LINES:
                return
            line = self._lines[place, operation] = _Line()
        line.calls += 1
        line.last = size
        if not line.calls & (line.calls - 1):
            line.sizes.append(size)

    def fastest(self) -> GrownWithin | None:
        """The first line of those whose results grew by far, and ever on, and became largest."""
        grown = [(key, line) for key, line in self._lines.items() if _grows(line)]
        if not grown:
            return None
        (place, operation), line = max(grown, key=lambda each: each[1].last)
        before = line.sizes[:-1] if 2 ** (len(line.sizes) - 1) == line.calls else line.sizes
        sizes = [*before, line.last]
        return GrownWithin(operation=operation, location=locate(place), calls=line.calls, sizes=sizes)


def _grows(line: _Line) -> bool:
    """The first calls may make next to nothing, as of a state that begins at zero."""
    if line.calls < _LEAST_CALLS:
        return False
    later = line.sizes[2:]
    rises = all(one < other for one, other in pairwise(later)) and line.last >= later[-1]
    return rises and line.last > _LEAST_GROWTH * max(later[0], 1e-30)
