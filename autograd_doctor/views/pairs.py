"""Pairs of values that were summed up, gathered by the lines at which they came about."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from autograd_doctor.events.facts import TensorFacts
from autograd_doctor.events.losses import PairsReduced
from autograd_doctor.findings import Evidence, Location, Related
from autograd_doctor.trace import Trace
from autograd_doctor.views.losses import elsewhere
from autograd_doctor.wording import shape


def pairs_by_line(trace: Trace, where: Callable[[PairsReduced], bool]) -> Iterator[list[PairsReduced]]:
    """Those of which this is true, by the line that combined two tensors."""
    lines: dict[Location | None, list[PairsReduced]] = {}
    for event in trace.of(PairsReduced):
        if where(event):
            lines.setdefault(event.location, []).append(event)
    yield from lines.values()


def described(facts: TensorFacts) -> str:
    """A tensor by its name, if it has one, and its shape: "`target` of shape (32,)"."""
    return f"{f'`{facts.name}`' if facts.name else 'a tensor'} of shape {shape(facts.shape)}"


def evidence(events: list[PairsReduced]) -> Evidence:
    first = events[0]
    return {
        "left_shape": shape(first.left.shape),
        "right_shape": shape(first.right.shape),
        "broadcast_shape": shape(first.shape),
        "times": len(events),
    }


def origins(event: PairsReduced) -> tuple[Related, ...]:
    """Where the operands came from, and where their pairs were summed up."""
    left, right = event.left, event.right
    return (
        *elsewhere(f"this has shape {shape(left.shape)}", left.made_at, event.location),
        *elsewhere(f"this has shape {shape(right.shape)}", right.made_at, event.location, left.made_at),
        *elsewhere("all pairs are summed here", event.reduced_at, event.location),
    )
