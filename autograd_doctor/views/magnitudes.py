"""How large updates, weights and gradients are, step by step: what several rules judge numbers by."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from statistics import median

from autograd_doctor.events import GradientsClipped, UpdatesMeasured
from autograd_doctor.trace import Trace


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


def tamed(trace: Trace, parameters: Iterable[int]) -> bool:
    """Whether clipping ever made gradients of these parameters smaller."""
    concerned = set(parameters)
    return any(
        not concerned.isdisjoint(event.parameters)
        and (event.kind == "value" or (event.norm is not None and event.norm > event.limit))
        for event in trace.of(GradientsClipped)
    )


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
