"""AD123 rate-as-factor: a schedule multiplies the learning rate by a learning rate."""

from __future__ import annotations

import math
from collections.abc import Iterator

from autograd_doctor.events.cycle import SchedulerStepped
from autograd_doctor.events.steps import OptimizerStepped
from autograd_doctor.events.subjects import OptimizerBuilt
from autograd_doctor.findings import Finding
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.rates import known
from autograd_doctor.views.so_far import has_ended

_SAME = 1e-6
"""Relative: the factor is computed anew."""
_BY_FACTORS = "LambdaLR"


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    by_optimizer: dict[int | None, list[SchedulerStepped]] = {}
    for call in trace.of(SchedulerStepped):
        by_optimizer.setdefault(call.optimizer, []).append(call)
    for calls in by_optimizer.values():
        is_alone = len({call.scheduler for call in calls}) == 1 and calls[0].kind == _BY_FACTORS
        steps = sum(not call.first for call in calls)
        if is_alone and steps >= tunables["steps"] and _is_squared(calls):
            yield _finding(trace, calls)


def _is_squared(calls: list[SchedulerStepped]) -> bool:
    """Whether the largest factor is the rate that it multiplies, which is no factor of 1."""
    base, rates = calls[0].base_rate, known(rate for call in calls for rate in (call.highest, *call.learning_rates))
    return base is not None and 0 < base < 1 and bool(rates) and math.isclose(max(rates), base * base, rel_tol=_SAME)


def _finding(trace: Trace, calls: list[SchedulerStepped]) -> Finding:
    first, base = calls[0], calls[0].base_rate or 0.0
    name = calls[-1].name or first.kind
    return RULE.finding(
        f"`{name}` multiplies the learning rate {base:g} of `{trace.optimizer_name(first.optimizer)}` by {base:g}: it "
        f"takes a factor, and got a rate; the rate was never above {base * base:g}",
        subject=name,
        location=first.location,
        confidence="medium",
        so_far=not has_ended(trace),
        help=f"let the function return the share of the rate, 1 for all of it: divide what it returns by {base:g}",
        evidence={"base_rate": base, "largest_factor": base, "largest_rate": base * base, "calls": len(calls)},
        step_first=first.step + 1,
        step_count=len(calls),
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    rate = 2e-3
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: rate * 0.9**epoch)  # <- AD123
    x = torch.randn(64, 6)
    for _ in range(6):
        for rows in torch.randperm(64).split(16):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x[rows]), x[rows].sum(1, keepdim=True)).backward()
            optimizer.step()
        schedule.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, 0.1 + 0.15 * step))
    x = torch.randn(64, 6)
    for _ in range(20):
        rows = torch.randint(0, 64, (16,))
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x[rows]), x[rows].sum(1, keepdim=True)).backward()
        optimizer.step()
        schedule.step()


def good_rates_beside_a_base_of_one() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 0.05 / (1 + step) ** 0.5)
    x = torch.randn(64, 6)
    for _ in range(20):
        rows = torch.randint(0, 64, (16,))
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x[rows]), x[rows].sum(1, keepdim=True)).backward()
        optimizer.step()
        schedule.step()


RULE = Rule(
    code="AD123",
    name="rate-as-factor",
    severity="warning",
    title="a schedule multiplies the learning rate by a learning rate",
    observes="The largest factor by which a `LambdaLR` has multiplied its base rate is that rate itself, so that all "
    "steps are taken at its square or less.",
    why="A rate of 0.002 becomes one of 0.000004: the loss barely falls, and nothing looks wrong but that.",
    fix="Return a factor: 1 keeps the rate, 0.5 halves it.",
    fine="A base rate of 1, beside which factors are rates; a schedule whose factor goes above; several schedules of "
    "one optimizer. A run of which only a part was seen gets an info: a warm-up may begin like that.",
    needs=(OptimizerBuilt, OptimizerStepped, SchedulerStepped),
    examine=examine,
    bad=(bad,),
    good=(good, good_rates_beside_a_base_of_one),
    tunables={"steps": Tunable(3, "steps of the schedule in which its factor is never larger", MORE_THAN_ONCE)},
    folds=("AD412",),
)
