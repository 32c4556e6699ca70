"""The gradients that steps of optimizers found, step by step, wherever they were measured."""

from __future__ import annotations

import math
from collections.abc import Iterable

from autograd_doctor.events.numerics import GradientMeasured
from autograd_doctor.events.steps import GradientNormsMeasured, OptimizerStepped
from autograd_doctor.trace import Trace

Norms = dict[int, float]
"""By parameter."""


def gradients(trace: Trace) -> dict[int | None, dict[int, Norms]]:
    """For each optimizer, by the number of its steps, counted from 1."""
    found: dict[int | None, dict[int, Norms]] = {}
    for event in trace.of(OptimizerStepped):
        if not event.skipped:
            norms = {p: norm for use in event.uses for p, norm in zip(use.parameters, use.norms, strict=True)}
            found.setdefault(event.optimizer, {})[event.step + 1] = norms
    looks: list[GradientNormsMeasured | GradientMeasured]
    looks = [*trace.of(GradientNormsMeasured), *trace.of(GradientMeasured)]
    for measured in looks:
        norms = dict(zip(measured.parameters, measured.norms, strict=True))
        found.setdefault(measured.optimizer, {}).setdefault(measured.step + 1, norms)
    return {optimizer: dict(sorted(steps.items())) for optimizer, steps in found.items()}


def rounds(trace: Trace) -> dict[int, Norms]:
    """By the first step of each round, in which optimizers step one after the other, each on parameters of its own."""
    steps: dict[int, Norms] = {}
    for by_step in gradients(trace).values():
        for step, norms in by_step.items():
            steps.setdefault(step, {}).update(norms)
    found: dict[int, Norms] = {}
    first = 0
    for step in sorted(steps):
        if first and found[first].keys().isdisjoint(steps[step]):
            found[first].update(steps[step])
        elif steps[step]:
            first = step
            found[first] = dict(steps[step])
    return found


def total(norms: Iterable[float]) -> float:
    """The norm of all together; NaN beats infinity, as it does in torch."""
    values = list(norms)
    return math.nan if any(map(math.isnan, values)) else math.hypot(*values)
