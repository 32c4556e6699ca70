"""What a query finds on the tapes of a trace, gathered by line: what is so in several steps is so in all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from autograd_doctor.findings import Location, Number
from autograd_doctor.tape import Tape
from autograd_doctor.trace import Trace

F = TypeVar("F")


@dataclass(frozen=True, slots=True)
class Seen(Generic[F]):
    """What was first found at a line. step: when that was. steps: those looked at in which the line was like that."""

    found: F
    location: Location | None
    step: int
    steps: int


def seen_in_steps(
    trace: Trace, query: Callable[[Tape], Iterable[tuple[Location | None, F]]], minimum: Number
) -> Iterator[Seen[F]]:
    """What `query` finds, with its line, in so many steps, or in all of a run that had fewer."""
    lines: dict[Location | None, list[tuple[Tape, F]]] = {}
    for tape in trace.tapes:
        for location, found in dict(query(tape)).items():
            lines.setdefault(location, []).append((tape, found))
    for location, seen in lines.items():
        (first, found), steps = seen[0], frozenset[int]().union(*(tape.steps for tape, _ in seen))
        if len(steps) >= min(minimum, trace.steps_taken):
            yield Seen(found, location, first.step, len(steps))
