"""Learning rates, as far as the optimizers tell them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from autograd_doctor.events import OptimizerBuilt, OptimizerStepped
from autograd_doctor.findings import Evidence


def known(rates: Iterable[float | None]) -> list[float]:
    """Those that are told."""
    return [rate for rate in rates if rate is not None]


def rates_of(steps: Iterable[OptimizerStepped]) -> list[float]:
    """All that steps were taken with, each once, in ascending order."""
    return sorted({rate for step in steps for rate in known(step.learning_rates)})


def rate_given(built: OptimizerBuilt | None) -> Evidence:
    """The highest of all groups that an optimizer was built with."""
    rates = known(group.lr for group in built.groups) if built is not None else []
    return {"learning_rate": max(rates)} if rates else {}


def still_rising(steps: Sequence[OptimizerStepped]) -> bool:
    """Whether the last of these steps had a higher rate than all before it: a warm-up of which the end was not seen."""
    highest = [max(rates) for rates in (known(step.learning_rates) for step in steps) if rates]
    return len(highest) > 1 and highest[-1] > max(highest[:-1])
