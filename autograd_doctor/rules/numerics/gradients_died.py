"""AD414 gradients-died: from some step on, every gradient of an optimizer was exactly zero, and the loss was not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from autograd_doctor.events.numerics import GradientMeasured, UpdatesMeasured
from autograd_doctor.events.run import LightStepsCounted
from autograd_doctor.events.steps import BackwardRan, GradientNormsMeasured, OptimizerStepped, Zeroing
from autograd_doctor.events.subjects import OptimizerBuilt
from autograd_doctor.events.tapes import TapeSealed
from autograd_doctor.findings import Finding
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.directions import is_floored
from autograd_doctor.views.gradients import gradients, total
from autograd_doctor.views.step_cycle import called, related
from autograd_doctor.wording import plural


class _Death(NamedTuple):
    """last_alive: the last step that found a gradient; looks: steps after it that were looked at, all without one."""

    optimizer: int
    last_alive: int
    looks: Sequence[int]
    backwards: Sequence[BackwardRan]


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    for optimizer, by_step in gradients(trace).items():
        alive = [step for step, norms in by_step.items() if any(norms.values())]
        if optimizer is None or not alive:
            continue
        looks = [step for step in by_step if step > alive[-1]]
        backwards = _went_on(trace, optimizer, alive[-1])
        if len(looks) >= tunables["minimum_steps"] and backwards and _loss_stays(trace, alive[-1]):
            death = _Death(optimizer, alive[-1], looks, backwards)
            if not (_is_held(death) or _has_met_its_bound(trace, death) or _may_be_held(trace, death)):
                yield _finding(trace, death)


def _is_held(death: _Death) -> bool:
    """Whether gradients arrived: then it was the program that set them to zero between backward and step."""
    return any(backward.sent_to for backward in death.backwards)


def _has_met_its_bound(trace: Trace, death: _Death) -> bool:
    """Whether the loss is as low as it ever was, and all of it ends at a bound that the program has set: what was asked
    for is reached, as within a tolerance."""
    number = death.backwards[0].backward
    before = [each.loss for each in trace.of(BackwardRan) if each.backward < number and each.loss is not None]
    now = [each.loss for each in death.backwards if each.loss is not None]
    is_lowest = bool(before and now) and max(now) <= min(before)
    return is_lowest and any(all(map(is_floored, tape.roots)) for tape in trace.tapes)


def _may_be_held(trace: Trace, death: _Death) -> bool:
    """Whether parameters may be frozen by their gradients: the program has worked on these, or hooks that were on some
    leaf, or on a root, in each backward; unless an operation is known to have made the zeros."""
    if _zeroing(death) is not None:
        return False
    later = (step for step in trace.steps if step.optimizer == death.optimizer and step.step >= death.last_alive)
    is_reworked = any(use.reworked for step in later for use in step.uses)
    return is_reworked or all(backward.hooked for backward in death.backwards)


def _went_on(trace: Trace, optimizer: int, last_alive: int) -> list[BackwardRan]:
    """Backwards after that which wrote to all that this optimizer had found a gradient for, and zeros to it."""
    taught = {p for step in trace.steps if step.optimizer == optimizer for use in step.uses for p in use.parameters}
    return [each for each in trace.of(BackwardRan) if each.step >= last_alive and taught and taught <= {*each.wrote}]


def _loss_stays(trace: Trace, last_alive: int) -> bool:
    """Whether no loss after that was zero: then all would have been learned."""
    losses = [each.loss for each in trace.of(BackwardRan) if each.step >= last_alive and each.loss is not None]
    losses += [each.loss for each in trace.of(LightStepsCounted) if each.first >= last_alive and each.loss is not None]
    return bool(losses) and all(losses)


def _finding(trace: Trace, death: _Death) -> Finding:
    built = trace.optimizers.get(death.optimizer)
    growth = _last_growth(trace, death)
    zeroing = _zeroing(death)
    thrown = growth is not None and growth > 1 and built is not None and built.location is not None
    backward = death.backwards[0]
    by_operation = zeroing.location if zeroing is not None else None
    parameters = sorted(trace.optimizer_parameters.get(death.optimizer, frozenset()))
    last = plural(len(death.looks), "later step")
    return RULE.finding(
        f"step {death.last_alive} was the last with a nonzero gradient: in all {last} looked at, the gradients of "
        f"{trace.parameter_names(parameters)} were exactly zero, but the loss was not"
        + (f"; this step changed the weights by {growth:,.3g} times their own size" if thrown else ""),
        subject=trace.optimizer_name(death.optimizer),
        location=(built.location if built is not None and thrown else None) or by_operation or backward.location,
        help="lower the learning rate, or scale inputs and targets to the order of 1: one step moved the weights to a "
        "region without gradient"
        if thrown
        else "look for what no longer has a gradient: units that are never active, values beyond a clamp, saturation",
        confidence="high" if thrown or zeroing is not None else "medium",
        evidence={
            "last_step_with_a_gradient": death.last_alive,
            "later_steps_looked_at": len(death.looks),
            "loss_then": backward.loss if backward.loss is not None else "unknown",
            **({"relative_change_in_that_step": growth} if growth is not None else {}),
            **({"operation": zeroing.operation} if zeroing is not None else {}),
        },
        related=related(
            (f"`{zeroing.operation}` passes on no gradient" if zeroing is not None else "", by_operation),
            ("this backward gave only zeros", backward.location),
        ),
        notes=(f"{called(trace, death.optimizer)} keeps stepping without a gradient",),
        step_first=death.last_alive + 1,
        step_count=len(death.looks),
        parameters=parameters,
    )


def _last_growth(trace: Trace, death: _Death) -> float | None:
    """What the last step that moved the weights did to them, by their size, where it was measured."""
    measured = [each for each in trace.of(UpdatesMeasured) if each.optimizer == death.optimizer]
    last = next((each for each in measured if each.step + 1 == death.last_alive), None)
    if last is None or not any(last.weights):
        return None
    return total(last.updates) / total(last.weights)


def _zeroing(death: _Death) -> Zeroing | None:
    """The operation nearest to the loss that turned gradients into zeros."""
    found = (zeroing for backward in death.backwards for zeroing in backward.zeroings)
    return max(found, key=lambda zeroing: len(zeroing.parameters), default=None)


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1), nn.ReLU())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)  # <- AD414
    x = torch.randn(64, 6)
    price = 400 + 30 * x.sum(1, keepdim=True)
    for _ in range(30):
        loss = nn.functional.mse_loss(model(x), price)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_clamp() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(64, 4)
    y = 40 + x.sum(1, keepdim=True)
    for _ in range(40):
        prediction = model(x).clamp(-8, 8)  # <- AD414
        loss = nn.functional.mse_loss(prediction, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    x = torch.randn(64, 6)
    price = 400 + 30 * x.sum(1, keepdim=True)
    centre, scale = price.mean(), price.std()
    for _ in range(30):
        loss = nn.functional.mse_loss(model(x), (price - centre) / scale)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_margin_is_kept() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder = nn.Linear(4, 8)
    optimizer = torch.optim.Adam(encoder.parameters(), lr=0.05)
    anchor = torch.randn(16, 4)
    near, far = anchor + 0.01 * torch.randn(16, 4), anchor + 0.2
    for _ in range(40):
        loss = nn.functional.triplet_margin_loss(encoder(anchor), encoder(near), encoder(far))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD414",
    name="gradients-died",
    severity="error",
    title="from some step on, all gradients were exactly zero",
    observes="The gradients at each step of an optimizer, in recorded steps and, ever more rarely, in light ones: "
    "nonzero at first, and then only zeros until the end of what was seen, although backwards wrote them and no loss "
    "was zero. Also, how far the last step that moved the weights changed them.",
    why="The model learns nothing more, however long training continues: without a gradient, the weights cannot "
    "recover.",
    fix="If one step moved the weights too far, lower the learning rate or scale the data to the order of 1; "
    "otherwise bring the operation back to a range where it has a gradient.",
    fine="Losses that reach zero, or a bound that the program has set for them, because all margins are met, "
    "optimizers that pause while others step, and gradients that arrive and that the program then multiplies by zero, "
    "as masks of pruned or frozen weights do.",
    needs=(
        BackwardRan,
        GradientMeasured,
        GradientNormsMeasured,
        LightStepsCounted,
        OptimizerBuilt,
        OptimizerStepped,
        TapeSealed,
        UpdatesMeasured,
    ),
    examine=examine,
    bad=(bad, bad_clamp),
    good=(good, good_margin_is_kept),
    tunables={
        "minimum_steps": Tunable(
            10,
            "fewest steps without a gradient after the last one with a gradient",
            "chosen: all units may be inactive for a batch or two",
        )
    },
    folds=("AD407",),
)
