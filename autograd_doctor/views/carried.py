"""Values that a program keeps and computes from themselves, step after step: whether they grow by themselves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from autograd_doctor.events.numerics import CarriedValueMeasured
from autograd_doctor.trace import Trace

_FASTER = 3.0
_ALIKE = 10.0


@dataclass(frozen=True)
class Carried:
    """One such value in the steps in which it was measured, from the first in which it was not 0."""

    measured: tuple[CarriedValueMeasured, ...]

    @property
    def last(self) -> CarriedValueMeasured:
        return self.measured[-1]

    @property
    def growth(self) -> float:
        return self.last.size / self.measured[0].size

    @property
    def by_itself(self) -> float:
        """The part of its growth that what flows into it does not explain."""
        given = [event.given for event in self.measured if event.given]
        return self.growth / max(1.0, given[-1] / given[0]) if given else self.growth

    @property
    def feeds_on_itself(self) -> bool:
        """Whether it grows faster than a sum of as much in every step, which a mean that begins at 0 never outruns."""
        return self.by_itself >= _FASTER * (self.last.step + 1) / (self.measured[0].step + 1)

    @property
    def keeps_adding(self) -> bool:
        """Whether it still grew at the end as a sum does, which a mean has long ceased to do."""
        middle = next(event for event in self.measured if event.step >= self.last.step / 3)
        counted = (self.last.step + 1) / (middle.step + 1)
        return middle is not self.last and self.last.size / middle.size >= counted / 2

    @property
    def in_loss(self) -> bool:
        return any(event.in_loss for event in self.measured)

    def told(self, most: int = 8) -> str:
        """Some points of its curve: "0.5 in step 2, 31 in step 26"."""
        stride = max(1, -(-len(self.measured) // most))
        points = [*self.measured[:-1:stride], self.last]
        return ", ".join(f"{event.size:.3g} in step {event.step + 1}" for event in points)


def carried_values(trace: Trace) -> Iterator[Carried]:
    by_value: dict[int, list[CarriedValueMeasured]] = {}
    for event in trace.of(CarriedValueMeasured):
        if event.size or event.value in by_value:
            by_value.setdefault(event.value, []).append(event)
    return (Carried(tuple(events)) for events in by_value.values() if events[-1].size)


def cause(found: Iterable[Carried]) -> Carried | None:
    """The one that grew most; of those that grew alike, as parts of one update do, what nothing else flows into."""
    candidates = list(found)
    most = max((carried.growth for carried in candidates), default=0.0)
    alike = [carried for carried in candidates if carried.growth * _ALIKE >= most]
    return min(alike, key=lambda carried: (carried.last.given is not None, carried.last.value), default=None)
