"""Learning rates, as far as the optimizers tell them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from autograd_doctor.events.data import WeightsLoaded
from autograd_doctor.events.steps import OptimizerStepped
from autograd_doctor.events.subjects import OptimizerBuilt
from autograd_doctor.findings import Evidence
from autograd_doctor.trace import Trace

_JUMP = 5
"""Times: a warm-up takes many steps for that."""
_TRIED, _WIDE = 5, 100
"""Steps of a test of rates, and times from its first rate to its last."""


def known(rates: Iterable[float | None]) -> list[float]:
    """Those that are told."""
    return [rate for rate in rates if rate is not None]


def rates_of(steps: Iterable[OptimizerStepped]) -> list[float]:
    """All that steps were taken with, each once, in ascending order."""
    return sorted({rate for step in steps for rate in known(step.learning_rates)})


def rate_given(built: OptimizerBuilt | None, group: int | None = None) -> Evidence:
    """The highest of all groups that an optimizer was built with, or that of one of them."""
    groups = built.groups if built is not None else []
    rates = known(each.lr for number, each in enumerate(groups) if group in (None, number))
    return {"learning_rate": max(rates)} if rates else {}


def still_rising(steps: Sequence[OptimizerStepped]) -> bool:
    """Whether the last of these steps had a higher rate than all before it: a warm-up of which the end was not seen."""
    highest = [max(rates) for rates in (known(step.learning_rates) for step in steps) if rates]
    return len(highest) > 1 and highest[-1] > max(highest[:-1])


def jump(
    trace: Trace, parameters: Iterable[int], after: int, until: int
) -> tuple[OptimizerStepped, OptimizerStepped] | None:
    """The last two recorded steps between which the rate of an optimizer that holds one of these rose a lot.

    The second of them is behind the step `after`, and not behind `until`.
    """
    wanted = set(parameters)
    found = None
    for optimizer, held in trace.optimizer_parameters.items():
        steps = [step for step in trace.steps if step.optimizer == optimizer and known(step.learning_rates)]
        for before, step in pairwise(steps if wanted & held else ()):
            rate, now = (max(known(each.learning_rates)) for each in (before, step))
            if after < step.step <= until and 0 < _JUMP * rate <= now:
                found = before, step
    return found


def tried_rates(trace: Trace, step: int) -> bool:
    """Whether a test of rates was on, or at its end, after so many steps: it is there to see where training diverges.

    The rate rose with each of its steps. Then others learn, or the same weights, put back, at a lower one: a warm-up
    goes on at the rate that it has reached.
    """
    before = [each for each in trace.steps if each.step < step and known(each.learning_rates)]
    its = [each for each in trace.steps if before and each.optimizer == before[-1].optimizer]
    rates = [max(known(each.learning_rates), default=0.0) for each in its]
    end = next((place for place in range(1, len(its)) if rates[place] <= rates[place - 1]), len(its))
    if not before or end < _TRIED or rates[end - 1] < _WIDE * rates[0] or its[end - 1].step < before[-1].step:
        return False
    last = its[end - 1]
    if end == len(its):
        return any(each.step > last.step for each in trace.steps)
    moved = {parameter for use in last.uses for parameter in use.parameters}
    loads = (load for load in trace.of(WeightsLoaded) if last.step < load.step <= its[end].step)
    return any(moved <= set(load.parameters) for load in loads)
