"""How large updates, weights and gradients are, step by step: what several rules judge numbers by."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from statistics import median

from autograd_doctor.events.cycle import GradientsClipped
from autograd_doctor.events.numerics import UpdatesMeasured
from autograd_doctor.trace import Trace
from autograd_doctor.views.rates import known

_ORDINARY = 0.1
"""The usual initialisations, from LeCun's to He's, give 0.6 to 1.4 before they are scaled down on purpose."""
_FAR_APART = 100.0
_ALIKE = 10.0
"""Gradients a hundred times as large make steps a hundred times as large, unless somebody rescales them."""
_A_TRACE = 1e-3
"""Of a gradient: where clipping leaves no more of it, a rate that suited it is far too low for what is left."""
_ADDED_UP = 20.0
"""Steps whose gradients a momentum of 0.95 adds up: one that is no larger than these follows them."""
_FALLEN = 0.1
"""Of the highest rate: one that is lower makes steps small by itself."""


@dataclass(frozen=True)
class Relative:
    """A step of an optimizer: updates divided by weights, root mean squares of each matrix of weights.

    Vectors are left out if there is a matrix: biases and scales begin at 0 or 1 and say nothing about the rate.
    """

    step: int
    ratios: dict[int, float]

    @property
    def typical(self) -> float:
        return median(self.ratios.values())

    def of(self, parameters: Iterable[int]) -> Relative:
        """Of these alone."""
        return Relative(self.step, {p: self.ratios[p] for p in parameters if p in self.ratios})


def relative_updates(trace: Trace, optimizer: int) -> list[Relative]:
    """For each recorded step of an optimizer, without weights that are zero, as those of a new adapter, and without
    what is not finite any more."""
    found, telling = [], _telling(trace, optimizer)
    for event in trace.of(UpdatesMeasured):
        if event.optimizer == optimizer:
            measured = zip(event.parameters, event.weights, event.updates, strict=True)
            ratios = {p: update / weight for p, weight, update in measured if weight and p in telling}
            ratios = {p: ratio for p, ratio in ratios.items() if math.isfinite(ratio)}
            if ratios:
                found.append(Relative(event.step, ratios))
    return found


def against_the_first(trace: Trace, optimizer: int) -> list[float]:
    """For each recorded step of an optimizer, what it changed divided by how large the weights were at first: the least
    of all matrices.

    None at all where a matrix began much smaller than usual, which is in proportion to the root of what it takes in:
    an adapter, or a last layer that is to say nothing at first.
    """
    first: dict[int, float] = {}
    found, telling = [], _telling(trace, optimizer)
    for event in trace.of(UpdatesMeasured):
        if event.optimizer == optimizer:
            for parameter, weight in zip(event.parameters, event.weights, strict=True):
                first.setdefault(parameter, weight)
            measured = zip(event.parameters, event.updates, strict=True)
            ratios = [update / first[p] if first[p] else math.inf for p, update in measured if p in telling]
            found.append(min(ratios, default=0.0))
    shapes = {parameter: trace.parameters[parameter].shape for parameter in telling & first.keys()}
    ordinary = (first[p] * math.sqrt(math.prod(shape[1:])) >= _ORDINARY for p, shape in shapes.items())
    return found if shapes and all(ordinary) else []


def growth(trace: Trace, optimizer: int) -> float:
    """By how much the matrices of an optimizer have grown between the first recorded step and the last, typically."""
    first: dict[int, float] = {}
    last: dict[int, float] = {}
    telling = _telling(trace, optimizer)
    for event in trace.of(UpdatesMeasured):
        if event.optimizer == optimizer:
            for parameter, weight in zip(event.parameters, event.weights, strict=True):
                if weight and math.isfinite(weight) and parameter in telling:
                    last[parameter] = weight
                    first.setdefault(parameter, weight)
    return median(last[parameter] / weight for parameter, weight in first.items()) if first else 1.0


def collapse(trace: Trace, optimizer: int) -> dict[int, float]:
    """What is left of the size that each matrix of an optimizer had at its first recorded step, at the last one.

    Of matrices alone, and of none that began at zero.
    """
    found: dict[int, float] = {}
    first: dict[int, float] = {}
    for event in trace.of(UpdatesMeasured):
        if event.optimizer == optimizer:
            for parameter, weight in zip(event.parameters, event.weights, strict=True):
                seen = trace.parameters.get(parameter)
                if (
                    seen is not None
                    and len(seen.shape) > 1
                    and math.isfinite(weight)
                    and first.setdefault(parameter, weight)
                ):
                    found[parameter] = weight / first[parameter]
    return found


def rescales(trace: Trace, optimizer: int) -> bool:
    """Whether updates were seen not to follow gradients: of two of which one is far larger, the steps were alike.

    So it is with Adam, RMSprop, LARS and their kin, whichever class they are written in.
    """
    updates = {event.step: event for event in trace.of(UpdatesMeasured) if event.optimizer == optimizer}
    found = []
    for step, other, _, norms in gradient_totals(trace):
        event = updates.get(step) if other == optimizer else None
        if event is not None:
            sizes = dict(zip(event.parameters, event.updates, strict=True))
            found += [(norm / root_of_numel(trace, p), sizes[p]) for p, norm in norms.items() if norm and sizes.get(p)]
    if not found:
        return False
    smallest, largest = min(found), max(found)
    return largest[0] >= _FAR_APART * smallest[0] and largest[1] <= _ALIKE * smallest[1]


def root_of_numel(trace: Trace, parameter: int) -> float:
    seen = trace.parameters.get(parameter)
    return math.sqrt(math.prod(seen.shape)) if seen is not None else 1.0


def tamed(trace: Trace, parameters: Iterable[int]) -> bool:
    """Whether clipping ever made gradients of these parameters smaller."""
    concerned = set(parameters)
    return any(
        not concerned.isdisjoint(event.parameters)
        and (event.kind == "value" or (event.norm is not None and event.norm > event.limit))
        for event in trace.of(GradientsClipped)
    )


def clipped_away(trace: Trace, optimizer: int) -> GradientsClipped | None:
    """The newest clipping of an optimizer's gradients, if steps are small for it: of none more than a trace is left,
    each step follows what is left, and the rate is no lower than it was."""
    held = trace.optimizer_parameters.get(optimizer, frozenset())
    clips = [event for event in trace.of(GradientsClipped) if not held.isdisjoint(event.parameters)]
    is_left = all(clip.kind == "norm" and clip.norm and clip.limit <= _A_TRACE * clip.norm for clip in clips)
    return clips[-1] if clips and is_left and _follows_at_its_rate(trace, optimizer) else None


def _follows_at_its_rate(trace: Trace, optimizer: int) -> bool:
    """Whether no step was larger than gradients and rate make it, at a rate that has not fallen."""
    built = trace.optimizers.get(optimizer)
    rates = {
        event.step: max(known(event.learning_rates), default=0.0)
        for event in trace.steps
        if event.optimizer == optimizer
    }
    earlier = (group.highest_lr for group in (built.groups if built is not None else ()))
    highest = max([*earlier, *rates.values()], default=0.0)
    gradients = {step: total for step, number, total, _ in gradient_totals(trace) if number == optimizer}
    updates = (event for event in trace.of(UpdatesMeasured) if event.optimizer == optimizer)
    moved = {event.step: _total(trace, event) for event in updates}
    both = gradients.keys() & moved.keys()
    is_small = all(moved[step] <= _ADDED_UP * rates[step] * gradients[step] for step in both)
    return bool(both) and is_small and all(rates[step] >= _FALLEN * highest for step in both)


def _total(trace: Trace, event: UpdatesMeasured) -> float:
    sizes = zip(event.parameters, event.updates, strict=True)
    return math.hypot(*(size * root_of_numel(trace, parameter) for parameter, size in sizes))


def gradient_totals(trace: Trace) -> Iterator[tuple[int, int, float, dict[int, float]]]:
    """Step, optimizer, total norm and the norm of each parameter, for each step that took effect and was measured.

    Those whose gradients are not finite belong to who made them so.
    """
    for event in trace.steps:
        norms = {p: norm for use in event.uses for p, norm in zip(use.parameters, use.norms, strict=True)}
        total = math.hypot(*norms.values())
        if norms and event.optimizer is not None and math.isfinite(total):
            yield event.step, event.optimizer, total, norms


def _telling(trace: Trace, optimizer: int) -> frozenset[int]:
    """The matrices of an optimizer, or its vectors where it holds no matrix, as a linear model may."""
    held = trace.optimizer_parameters.get(optimizer, frozenset())
    shapes = {parameter: trace.parameters[parameter].shape for parameter in held if parameter in trace.parameters}
    matrices = frozenset(parameter for parameter, shape in shapes.items() if len(shape) > 1)
    return matrices or frozenset(parameter for parameter, shape in shapes.items() if shape and shape[0] > 1)
