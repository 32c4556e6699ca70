"""AD413 gradient-spike: the gradients of one step stand far above those of all others."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

from autograd_doctor.events.cycle import GradientsClipped
from autograd_doctor.events.data import WeightsLoaded
from autograd_doctor.events.numerics import GradientMeasured, LossesFollowed
from autograd_doctor.events.steps import BackwardRan, OptimizerStepped
from autograd_doctor.findings import Finding
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.magnitudes import gradient_totals, tamed
from autograd_doctor.views.rates import tried_rates


@dataclass(frozen=True)
class _Step:
    step: int
    total: float
    norms: dict[int, float]


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    for optimizer, held in trace.optimizer_parameters.items():
        steps = _steps(trace, optimizer)
        if len(steps) < tunables["steps"] or tamed(trace, held):
            continue
        highest, *others = sorted(steps, key=lambda each: each.total, reverse=True)
        ordinary = median(each.total for each in others)
        # The first steps of a training differ from all later ones.
        is_spike = highest.step >= tunables["first"] and highest.total > tunables["factor"] * others[0].total
        if is_spike and ordinary and not tried_rates(trace, highest.step + 1):
            yield _finding(trace, optimizer, highest, ordinary)


def _steps(trace: Trace, optimizer: int) -> list[_Step]:
    recorded = [_Step(step, total, norms) for step, other, total, norms in gradient_totals(trace) if other == optimizer]
    measured = [
        _Step(event.step, math.hypot(*event.norms), dict(zip(event.parameters, event.norms, strict=True)))
        for event in trace.of(GradientMeasured)
        if event.optimizer == optimizer
    ]
    return recorded + [each for each in measured if math.isfinite(each.total)]


def _finding(trace: Trace, optimizer: int, spike: _Step, ordinary: float) -> Finding:
    location = next((ran.location for ran in trace.of(BackwardRan) if set(ran.wrote) & spike.norms.keys()), None)
    most = max(spike.norms, key=lambda parameter: spike.norms[parameter])
    return RULE.finding(
        f"in step {spike.step + 1} the norm of the gradients that `{trace.optimizer_name(optimizer)}` used was "
        f"{spike.total:.3g}, in others {ordinary:.3g}",
        subject=trace.parameter_name(most),
        location=location,
        help="check the batch of this step; gradient clipping keeps one odd batch from undoing what was learned",
        confidence="medium",
        evidence={
            "norm": spike.total,
            "ordinary_norm": ordinary,
            "largest_at": trace.parameter_name(most),
            "step": spike.step + 1,
        },
        step_first=spike.step + 1,
        step_count=1,
        parameters=sorted(spike.norms),
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    x = torch.randn(40, 64, 8)
    y = x.mean(2, keepdim=True)
    y[28] *= 1000
    for features, target in zip(x, y, strict=True):
        loss = nn.functional.mse_loss(model(features), target)
        optimizer.zero_grad()
        loss.backward()  # <- AD413
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    x = torch.randn(40, 64, 8)
    y = x.mean(2, keepdim=True)
    y[28] *= 3
    for features, target in zip(x, y, strict=True):
        loss = nn.functional.mse_loss(model(features), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_clipped() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    x = torch.randn(40, 64, 8)
    y = x.mean(2, keepdim=True)
    y[28] *= 1000
    for features, target in zip(x, y, strict=True):
        loss = nn.functional.mse_loss(model(features), target)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


RULE = Rule(
    code="AD413",
    name="gradient-spike",
    severity="info",
    title="the gradients of one step are far larger than the others",
    observes="The norm of the gradients that each step used, for all steps that were recorded or whose loss stood out.",
    why="One odd batch, with a wrong label or a value on another scale, moves the weights as far as dozens of "
    "ordinary batches.",
    fix="Check that batch; clip gradients.",
    fine="The first steps of a training, spikes that are clipped, and tests of learning rates, which rise with each "
    "step before the weights are put back.",
    needs=(OptimizerStepped, GradientMeasured, BackwardRan, GradientsClipped, LossesFollowed, WeightsLoaded),
    examine=examine,
    bad=(bad,),
    good=(good, good_clipped),
    tunables={
        "steps": Tunable(8, "fewest steps to compare one with", "chosen: with fewer, there is no ordinary norm"),
        "first": Tunable(
            3,
            "steps at the beginning that never count as spikes",
            "chosen: the first steps of a training differ from all later ones",
        ),
        "factor": Tunable(
            100.0,
            "smallest factor between this norm and all others",
            "chosen: it takes a hundred ordinary steps in the same direction to move as far",
        ),
    },
    about="loss",
)
