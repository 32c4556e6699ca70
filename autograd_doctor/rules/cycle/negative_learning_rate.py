"""AD117 negative-learning-rate: a rate that was positive fell below zero, and steps with it climbed the loss."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from autograd_doctor.events.cycle import SchedulerStepped
from autograd_doctor.events.steps import OptimizerStepped
from autograd_doctor.events.subjects import OptimizerBuilt
from autograd_doctor.findings import Finding
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.step_cycle import called, groups_of, ordinal, related, steps_by_optimizer

_SAME = 1e-6
"""Relative: rates that differ by rounding alone."""
_AGAIN = 2
"""Times that a rate is positive again: a wave with a long period gets there once."""


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    for optimizer, steps in steps_by_optimizer(trace).items():
        highest = _rates_before(trace, optimizer)
        for step in steps if optimizer is not None else ():
            rates = {group: rate for group, rate in enumerate(step.learning_rates) if rate is not None}
            limits = {group: -tunables["of_highest"] * rate for group, rate in highest.items() if rate > 0}
            below = [group for group, rate in rates.items() if group in limits and rate < limits[group]]
            below = [group for group in below if not _takes_turns(steps, group)]
            if below:
                worst = min(below, key=rates.__getitem__)
                yield _finding(trace, step, rates[worst], highest[worst])
                break
            highest |= {group: max(rate, highest.get(group, 0.0)) for group, rate in rates.items()}


def _rates_before(trace: Trace, optimizer: int | None) -> dict[int, float]:
    """The highest rates that groups have had, where nobody has watched the run from its beginning. That of the first
    may be known by its schedule alone."""
    groups = groups_of(trace, optimizer) if optimizer is not None else []
    known = {index: group.highest_lr for index, group in enumerate(groups) if group.highest_lr > 0}
    calls = (call for call in trace.of(SchedulerStepped) if call.optimizer == optimizer)
    base = next((call.base_rate for call in calls if call.base_rate is not None), None)
    return {0: base} | known if base is not None and trace.steps_before else known


def _takes_turns(steps: list[OptimizerStepped], group: int) -> bool:
    """Whether a group goes as far up the loss as down, again and again: by one size, or one step after the other.

    A schedule that runs past its end comes by each size at other times, and by those around zero once.
    """
    known = [(step.step, step.learning_rates[group]) for step in steps if len(step.learning_rates) > group]
    rates = [(step, rate) for step, rate in known if rate]
    returns = sum(before < 0 < after for (_, before), (_, after) in pairwise(rates))
    up, down = ({f"{abs(rate):.6g}" for _, rate in rates if (rate < 0) == is_down} for is_down in (False, True))
    if returns and len(down) == 1 and down <= up:
        return True
    within = [each for each in zip(rates, rates[1:], rates[2:], strict=False) if each[2][0] - each[0][0] == 2]
    climbs = [(at, before, after) for (_, before), (_, at), (_, after) in within if at < 0]
    turned = [_is_opposite(at, before) or _is_opposite(at, after) for at, before, after in climbs]
    return returns >= _AGAIN and len(turned) >= _AGAIN and all(turned)


def _is_opposite(one: float, other: float) -> bool:
    return abs(one + other) <= _SAME * abs(one)


def _finding(trace: Trace, step: OptimizerStepped, rate: float, highest: float) -> Finding:
    calls = [call for call in trace.of(SchedulerStepped) if call.optimizer == step.optimizer]
    made = calls[0].location if calls else None
    length = next((call.length for call in calls if call.length), None)
    return RULE.finding(
        f"step {ordinal(step)} of {called(trace, step.optimizer)} ran with a learning rate of {rate:.3g}, which had "
        f"been {highest:.3g}: it moved along the gradient, up the loss",
        subject=trace.optimizer_name(step.optimizer),
        location=made or step.location,
        help="let the schedule end at 0 or above, after as many steps as the training takes",
        evidence={"learning_rate": rate, "highest": highest, "length_of_schedule": length or "unknown"},
        related=related(("the step was taken here", step.location)) if made else (),
        step_first=ordinal(step),
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1.0 - step / 10)  # <- AD117
    for _ in range(16):
        x = torch.randn(16, 4)
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).backward()
        optimizer.step()
        schedule.step()


def bad_by_hand() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(16):
        for group in optimizer.param_groups:
            group["lr"] = 0.05 - 0.005 * step
        x = torch.randn(16, 4)
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).backward()
        optimizer.step()  # <- AD117


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: max(0.0, 1.0 - step / 10))
    for _ in range(16):
        x = torch.randn(16, 4)
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).backward()
        optimizer.step()
        schedule.step()


def good_rounding() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(12):
        for group in optimizer.param_groups:
            group["lr"] = 0.05 - 0.05 * step * (1 / 11) - 1e-17
        x = torch.randn(16, 4)
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).backward()
        optimizer.step()


def good_ascent_from_the_start() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    attack = torch.zeros(16, 4, requires_grad=True)
    learns = torch.optim.SGD(model.parameters(), lr=0.05)
    climbs = torch.optim.SGD([attack], lr=0.01, maximize=True)
    for _ in range(12):
        x = torch.randn(16, 4)
        learns.zero_grad()
        climbs.zero_grad()
        nn.functional.mse_loss(model(x + attack), x.sum(1, keepdim=True)).backward()
        learns.step()
        climbs.step()


RULE = Rule(
    code="AD117",
    name="negative-learning-rate",
    severity="error",
    title="a learning rate fell below zero",
    observes="The rate of every parameter group at every step, compared with the highest that the group had before.",
    why="A step with a negative rate goes up the loss: what was learned is undone again, and torch says nothing, as it "
    "checks the rate only when the optimizer is built.",
    fix="End the schedule at 0 or above: clamp its factor, or give it as many steps as the training takes.",
    fine="Rates that end at zero up to rounding, ascent that is asked for from the start, as by `maximize=True`, and "
    "steps up and down in turn, of the same size, as in slingshots around a saddle.",
    needs=(OptimizerBuilt, OptimizerStepped, SchedulerStepped),
    examine=examine,
    bad=(bad, bad_by_hand),
    good=(good, good_rounding, good_ascent_from_the_start),
    tunables={
        "of_highest": Tunable(
            1e-6,
            "how far below zero a rate must be, relative to the highest before",
            "arithmetic: rounding leaves a schedule within 1e-7 of its end, even in float32",
        )
    },
    folds=("AD405",),
    about="loop",
)
