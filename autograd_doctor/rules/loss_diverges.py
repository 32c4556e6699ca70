"""AD405 loss-diverges: the loss left its early range by orders of magnitude, and the weights went with it."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from autograd_doctor.events import BackwardRan, LossesFollowed, OptimizerBuilt, OptimizerStepped, UpdatesMeasured
from autograd_doctor.findings import Finding, Related
from autograd_doctor.rules import Rule, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.curves import Curve, curves
from autograd_doctor.views.magnitudes import growth, relative_updates
from autograd_doctor.views.rates import rate_given


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    for curve in curves(trace):
        optimizer = _alone(trace, curve)
        rise = _rise(curve)
        if optimizer is None or rise < tunables["factor"]:
            continue
        ratio = _early_ratio(trace, optimizer)
        far = rise >= tunables["large_factor"]
        by_rate = ratio >= tunables["large_ratio"] * (1 if far else 3)
        if by_rate or (far and growth(trace, optimizer) >= tunables["weight_growth"]):
            yield _finding(trace, curve, optimizer, ratio, by_rate=by_rate)


def _alone(trace: Trace, curve: Curve) -> int | None:
    """The optimizer that minimises this loss.

    Where gradients also reach parameters of another, the two may be adversaries, whose losses rise by turns.
    """
    reached = {parameter for backward in curve.backwards for parameter in backward.reached}
    holders = [optimizer for optimizer, held in trace.optimizer_parameters.items() if held & reached]
    return holders[0] if len(holders) == 1 else None


def _rise(curve: Curve) -> float:
    """The last losses divided by the first: one that is minimised should not rise. One that falls below 0 does not."""
    opening, closing = curve.opening, curve.closing
    return closing / abs(opening) if opening and closing is not None and curve.count > 2 else 0.0


def _early_ratio(trace: Trace, optimizer: int) -> float:
    """Updates relative to weights while the loss was on its way: the typical one of the first steps."""
    measured = relative_updates(trace, optimizer)
    return median(each.typical for each in measured[:5]) if measured else 0.0


def _finding(trace: Trace, curve: Curve, optimizer: int, ratio: float, *, by_rate: bool) -> Finding:
    built, name = trace.optimizers.get(optimizer), trace.optimizer_name(optimizer)
    root = curve.backwards[0].root
    end = "and then is no finite number any more" if curve.ends_non_finite else "and stays there"
    grown = growth(trace, optimizer)
    cause = f": each step changes the weights by {ratio:.2g} times their size" if by_rate else ""
    made_at = root.made_at or curve.location
    return RULE.finding(
        f"the loss rises from {curve.opening:.3g} to {curve.closing:.3g} within {curve.count} backwards {end}{cause}",
        subject=name if by_rate else root.name or "loss",
        location=(built.location if built and by_rate else None) or made_at,
        help=f"lower the rate of `{name}`, by a factor of 10 to begin with, or clip the gradients"
        if by_rate
        else "look for what feeds on its own growth: a sum that is never reset, a missing normalisation, a sign",
        confidence="high" if by_rate else "medium",
        evidence={
            "losses": curve.told(),
            "backwards": curve.count,
            "update_to_weight_ratio": ratio,
            "weight_growth": grown,
            **rate_given(built),
        },
        related=(Related("this loss goes backward", curve.location),) if curve.location else (),
        notes=("ratios of updates to weights lie around 0.001 in most trainings",) if by_rate else (),
        step_first=1,
        step_count=curve.stretches[-1].step + 1,
        parameters=sorted(trace.optimizer_parameters.get(optimizer, ())),
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=3.0)  # <- AD405
    x = torch.randn(64, 8)
    y = x.sum(1, keepdim=True)
    for _ in range(12):
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_slowly() -> None:
    import torch

    torch.manual_seed(0)
    weights = torch.nn.Parameter(torch.randn(20, 3) * 0.1)
    x = torch.randn(200, 20) * 3
    y = torch.randn(200, 3)
    optimizer = torch.optim.SGD([weights], lr=0.13)  # <- AD405
    for _ in range(60):
        optimizer.zero_grad()
        loss = (x @ weights - y).square().sum(1).mean()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    x = torch.randn(64, 8)
    y = x.sum(1, keepdim=True)
    for _ in range(12):
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_growing_returns() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    value = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(value.parameters(), lr=3e-3)
    for episode in range(40):
        states = torch.randn(32, 4)
        returns = (states.sum(1, keepdim=True) + 1) * 1.4**episode
        loss = nn.functional.mse_loss(value(states), returns)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_harder_task() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for step in range(40):
        x = torch.randn(64, 8)
        scale = 0.01 if step < 20 else 30.0
        loss = nn.functional.mse_loss(model(x), scale * x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD405",
    name="loss-diverges",
    severity="error",
    title="the loss rises by orders of magnitude",
    observes="A loss that rose by orders of magnitude above its first value and did not come back, while the weights "
    "grew or each step changed them by a large part of their size.",
    why="The steps overshoot, each further than the one before, until a value overflows. What was learned is lost.",
    fix="Lower the learning rate, warm it up, or clip gradients; normalise inputs and targets that are large.",
    fine="Targets that grow, as returns in reinforcement learning, and harder tasks raise a loss, but not the weights. "
    "Losses of adversaries rise by turns and are not judged, nor are those that fall below zero.",
    needs=(LossesFollowed, UpdatesMeasured, BackwardRan, OptimizerBuilt, OptimizerStepped),
    examine=examine,
    bad=(bad, bad_slowly),
    good=(good, good_growing_returns, good_harder_task),
    # Our own measurement: over the healthy programs of the tests, losses that rise do so by a factor of 100 at most
    # unless their targets grow, typical updates are below 0.1 of the weights, and weights do not grow tenfold. Between
    # the factors, updates must be three times as large.
    tunables={"factor": 100.0, "large_factor": 1e4, "large_ratio": 0.1, "weight_growth": 10.0},
    folds=("AD401", "AD402", "AD404", "AD406", "AD412", "AD413", "AD408", "AD409", "AD410", "AD111", "AD116", "AD599"),
    about="loss",
)
