"""AD718 unnormalised-target: targets so large that predictions do not come near them."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.data import TargetScaleSeen
from autograd_doctor.findings import Finding
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.wording import plural


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    for event in trace.of(TargetScaleSeen):
        if event.target < tunables["scale"] or event.last_step - event.first_step < tunables["steps"]:
            continue
        if event.last < tunables["reached"] * event.target and _to_go(event) > tunables["steps_to_go"]:
            yield _finding(event)


def _to_go(event: TargetScaleSeen) -> float:
    """Steps until predictions are as large as the targets, if they go on to grow as fast."""
    per_step = (event.last - event.first) / (event.last_step - event.first_step)
    return (event.target - event.last) / per_step if per_step > 0 else float("inf")


def _finding(event: TargetScaleSeen) -> Finding:
    steps, to_go = event.last_step - event.first_step, _to_go(event)
    pace = f"; at that pace it takes {to_go:,.0f} more" if to_go < 1e12 else ""
    return RULE.finding(
        f"the targets are as large as {event.target:.4g} (median), the predictions were {event.first:.3g} in "
        f"step {event.first_step + 1} and {event.last:.3g} after {plural(steps, 'step')} more{pace}",
        subject=event.name or "targets",
        location=event.location,
        help="standardise the targets with the mean and the deviation of the training data, and scale predictions back",
        evidence={
            "target_size": event.target,
            "first_size": event.first,
            "last_size": event.last,
            "steps": steps,
        },
        step_first=event.first_step + 1,
        step_count=steps + 1,
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    features = torch.randn(200, 4)
    prices = 250_000 + 60_000 * features[:, :1]
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(6):
        for rows in torch.randperm(200).split(40):
            loss = nn.functional.mse_loss(model(features[rows]), prices[rows])  # <- AD718
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    features = torch.randn(200, 4)
    prices = 250_000 + 60_000 * features[:, :1]
    scaled = (prices - prices.mean()) / prices.std()
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(6):
        for rows in torch.randperm(200).split(40):
            loss = nn.functional.mse_loss(model(features[rows]), scaled[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def good_predictions_are_scaled() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    features = torch.randn(200, 4)
    prices = 250_000 + 60_000 * features[:, :1]
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(6):
        for rows in torch.randperm(200).split(40):
            predicted = prices.mean() + prices.std() * model(features[rows])
            loss = ((predicted - prices[rows]) / prices.std()).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


RULE = Rule(
    code="AD718",
    name="unnormalised-target",
    severity="warning",
    title="targets are too large to be reached",
    observes="The size of predictions, and of targets out of data that they are compared with by value, in the first "
    "and the last step in which both were looked at.",
    why="A step of the optimizer moves weights by about the learning rate. Where targets are in the hundred thousands, "
    "the output has to travel for millions of steps before anything can be learned from the inputs.",
    fix="Train on standardised targets (`(y - mean) / deviation`, from the training data), and undo that for the "
    "predictions that are shown.",
    fine="Large targets that predictions are scaled to, or come near to in time, targets that the program computes "
    "(returns, what another model says), and short runs.",
    needs=(TargetScaleSeen,),
    examine=examine,
    bad=(bad,),
    good=(good, good_predictions_are_scaled),
    tunables={
        "scale": Tunable(
            100,
            "smallest typical size of the targets",
            "chosen: targets in the tens are reached by a bias alone in any run",
        ),
        "steps": Tunable(
            20, "fewest steps between the first and the last look", "chosen: a pace cannot be told from fewer"
        ),
        "reached": Tunable(
            0.1,
            "part of that size below which the predictions still are",
            "chosen: what has come further is on its way",
        ),
        "steps_to_go": Tunable(
            20_000, "steps that it would still take at the same pace", "chosen: an epoch of most data sets has fewer"
        ),
    },
    folds=("AD412",),
    about="data",
)
