"""Events gathered by their lines: what is seen in several steps is so in all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from autograd_doctor.events.event import Event
from autograd_doctor.findings import Location, Number, Related
from autograd_doctor.trace import Trace

E = TypeVar("E", bound=Event)


def in_several_steps(
    trace: Trace, events: Iterable[E], line: Callable[[E], Location | None], minimum: Number
) -> Iterator[list[E]]:
    """The events of each line, if they happened in so many steps, or in all of a run that had fewer."""
    lines: dict[Location | None, list[E]] = {}
    for event in events:
        lines.setdefault(line(event), []).append(event)
    for found in lines.values():
        if len({event.step for event in found}) >= min(minimum, trace.steps_taken):
            yield found


def beside(location: Location | None, *places: tuple[str, Location | None]) -> tuple[Related, ...]:
    """Other places of a finding at this one, as far as they are known."""
    return tuple(Related(text, place) for text, place in places if place is not None and place != location)
