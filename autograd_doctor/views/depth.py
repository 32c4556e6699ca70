"""Gradients on their way through layers: through depth, and through the times that one layer is applied."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from autograd_doctor.events.numerics import Layer, LayersMeasured
from autograd_doctor.findings import Location
from autograd_doctor.trace import Trace

ENOUGH_LOOKS = 3
"""Backwards in which it must be so: what begins at zero, as a new branch of a residual network, is past it by then."""
_LARGEST_PART = 0.6
"""Of the whole change, on a logarithmic scale, in one place: more is a step, as at a gate, and no slope."""
_SMALLEST = 2.0**-149
"""Of float32."""


@dataclass(frozen=True)
class Slope:
    """How gradients change on one way, in decades from its beginning at the loss to its end; negative: they shrink.

    layers: those on the way, nearest to the loss first; a single one that is applied `times` times. decades: the least
    change among all backwards that were measured. gradients: those of the last one.
    """

    backward: Location | None
    layers: tuple[Layer, ...]
    decades: float
    gradients: tuple[float, ...]
    times: int = 1

    @property
    def begins(self) -> Layer:
        """The first layer from the loss on at which a tenth of the change has come about."""
        so_far = (abs(_decades(self.gradients[0], each)) for each in self.gradients)
        reached = (place for place, change in enumerate(so_far) if change >= abs(self.decades) / 10)
        return self.layers[min(next(reached, 0), len(self.layers) - 1)]


def through_depth(trace: Trace, minimum: int) -> Iterator[Slope]:
    """Ways through at least so many layers, each of which is applied once."""
    for line, looks in _by_line(trace).items():
        ways = [tuple(layer for layer in look.layers if len(layer.gradients) == 1) for look in looks]
        if len({tuple(tuple(layer.parameters) for layer in way) for way in ways}) == 1 and len(ways[0]) >= minimum:
            found = _slope([[layer.gradients[0] for layer in way] for way in ways])
            if found is not None:
                yield Slope(line, ways[-1], *found)


def through_time(trace: Trace, minimum: int) -> Iterator[Slope]:
    """Layers that are applied at least so many times on one way."""
    for line, looks in _by_line(trace).items():
        repeated: dict[tuple[int, ...], list[Layer]] = {}
        for look in looks:
            for layer in look.layers:
                repeated.setdefault(tuple(layer.parameters), []).append(layer)
        for layers in repeated.values():
            if len(layers) == len(looks) and all(len(layer.gradients) >= minimum for layer in layers):
                found = _slope([layer.gradients for layer in layers])
                if found is not None:
                    yield Slope(line, (layers[-1],), *found, times=len(layers[-1].gradients))


def _by_line(trace: Trace) -> dict[Location | None, list[LayersMeasured]]:
    found: dict[Location | None, list[LayersMeasured]] = {}
    for event in trace.of(LayersMeasured):
        found.setdefault(event.location, []).append(event)
    return {line: looks for line, looks in found.items() if len(looks) >= ENOUGH_LOOKS}


def _slope(looks: list[list[float]]) -> tuple[float, tuple[float, ...]] | None:
    """The least change among several looks, if all go one way and gradually; and the gradients of the last look."""
    changes = [_decades(look[0], look[-1]) for look in looks]
    if not (all(change > 0 for change in changes) or all(change < 0 for change in changes)):
        return None
    if not all(_is_gradual(look, change) for look, change in zip(looks, changes, strict=True)):
        return None
    return min(changes, key=abs), tuple(looks[-1])


def _is_gradual(gradients: list[float], change: float) -> bool:
    parts = (abs(_decades(before, after)) for before, after in pairwise(gradients))
    return max(parts) <= _LARGEST_PART * abs(change)


def _decades(before: float, after: float) -> float:
    """What float32 cannot tell from 0 any more counts as its smallest number."""
    return math.log10(max(after, _SMALLEST)) - math.log10(max(before, _SMALLEST))
