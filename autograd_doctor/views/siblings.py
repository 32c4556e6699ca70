"""Trials beside a trial: the same lines at work on another model, before or after, as in a sweep or a comparison.

Where these lines do well elsewhere in the process, the odd one among them is a control.
"""

from __future__ import annotations

from collections.abc import Iterable

from autograd_doctor.events import BackwardRan, Event, OptimizerStepped
from autograd_doctor.trace import Trace


def steps_of_siblings(trace: Trace, optimizer: int) -> list[OptimizerStepped]:
    """The steps of optimizers over other parameters that were built at the same line, and step before or after."""
    built = trace.optimizers[optimizer]
    own = [step for step in trace.steps if step.optimizer == optimizer]
    held = trace.optimizer_parameters[optimizer]
    found: list[OptimizerStepped] = []
    for number, other in trace.optimizers.items():
        is_alike = built.location is not None and other.location == built.location
        if is_alike and held.isdisjoint(trace.optimizer_parameters[number]):
            steps = [step for step in trace.steps if step.optimizer == number]
            found += steps if _are_apart(own, steps) else []
    return found


def backwards_of_siblings(trace: Trace, backward: BackwardRan) -> list[BackwardRan]:
    """Backwards that began at the same line and taught other parameters, before or after."""
    alike = [each for each in trace.of(BackwardRan) if each.location == backward.location and each.wrote]
    own = [each for each in alike if not set(each.wrote).isdisjoint(backward.wrote)]
    others = [each for each in alike if set(each.wrote).isdisjoint(backward.wrote)]
    return others if backward.location is not None and _are_apart(own, others) else []


def _are_apart(own: Iterable[Event], others: Iterable[Event]) -> bool:
    """Whether nothing of the one lies between things of the other."""
    mine = [event.sequence for event in own]
    return bool(mine) and not any(min(mine) < event.sequence < max(mine) for event in others)
