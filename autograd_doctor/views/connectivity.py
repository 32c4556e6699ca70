"""Which parameters a backward should have reached and did not, and what of that was seen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from sys import maxsize

from autograd_doctor.events.steps import BackwardRan, Cut
from autograd_doctor.findings import Location, Related
from autograd_doctor.trace import Trace
from autograd_doctor.views.crash import lacks_graph

_MOST_PLACES = 3
"""Layers to point at: more would fill the screen."""


def missed_by(trace: Trace, backward: BackwardRan, parameters: Iterable[int]) -> frozenset[int]:
    """Those of the parameters that this backward should have reached and could not, and no other of its stage did."""
    if not lacks_graph(backward):
        behind = {p for p in parameters if trace.left_behind.get(p, maxsize) < backward.sequence}
        return trace.without_gradient.intersection(parameters) | behind
    wanted = frozenset(parameters) - trace.frozen
    return wanted & trace.optimized if trace.optimized else wanted


def seen_first(cuts: Iterable[Cut]) -> list[Cut]:
    """Cuts in the order in which they may take the blame for a parameter: a guess takes none from what was seen."""
    return sorted(cuts, key=lambda cut: cut.guessed)


def registered(trace: Trace, parameters: Iterable[int], *others: Related) -> tuple[Related, ...]:
    """Where parameters came into a module, for the first few lines that are not told of already, behind `others`."""
    told = {other.location for other in others}
    places: dict[Location, str] = {}
    for parameter in parameters:
        seen = trace.parameters.get(parameter)
        if seen is not None and seen.registered_at is not None and seen.registered_at not in told:
            places.setdefault(seen.registered_at, seen.name)
    more = [Related(f"`{name}` was made here", place) for place, name in list(places.items())[:_MOST_PLACES]]
    return (*others, *more)


def first_values(trace: Trace, filled_at: Mapping[int, Location]) -> tuple[Related, ...]:
    """Where parameters were given the values that they began with, other than by the layer that made them."""
    places: dict[Location, str] = {}
    for parameter, place in filled_at.items():
        seen = trace.parameters.get(parameter)
        if seen is not None and seen.registered_at != place:
            places.setdefault(place, seen.name)
    return tuple(Related(f"`{name}` was initialised with values from here", place) for place, name in places.items())


def values_in(backwards: Iterable[BackwardRan]) -> tuple[frozenset[int], bool]:
    """Parameters whose values went into these losses, and whether that is a guess: only where none was seen to."""
    values: set[int] = set()
    seen: set[int] = set()
    for backward in backwards:
        values.update(backward.values or ())
        seen.update(set(backward.values or ()) - set(backward.guessed))
    return frozenset(seen or values), not seen and bool(values)
