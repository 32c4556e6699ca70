"""Trials beside a trial: the same lines at work on another model, before or after, as in a sweep or a comparison.

Where these lines do well elsewhere in the process, the odd one among them is a control.
"""

from __future__ import annotations

from collections.abc import Iterable

from autograd_doctor.events.event import Event
from autograd_doctor.events.steps import BackwardRan, OptimizerStepped
from autograd_doctor.trace import Trace
from autograd_doctor.views.step_cycle import steps_by_optimizer


def steps_of_siblings(trace: Trace, optimizer: int) -> list[OptimizerStepped]:
    """The steps of optimizers over other parameters that were built at the same line, and step before or after."""
    built, held, steps = trace.optimizers[optimizer], trace.optimizer_parameters[optimizer], steps_by_optimizer(trace)
    found: list[OptimizerStepped] = []
    for number, other in trace.optimizers.items():
        is_alike = built.location is not None and other.location == built.location
        if is_alike and held.isdisjoint(trace.optimizer_parameters[number]):
            beside = steps.get(number, [])
            found += beside if _are_apart(steps.get(optimizer, []), beside) else []
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
    first, last = min(mine, default=0), max(mine, default=0)
    return bool(mine) and not any(first < event.sequence < last for event in others)
