"""AD116: steps were taken, or updates computed, and not one parameter changed its value over the whole run."""

from __future__ import annotations

import math
from collections.abc import Iterator

from autograd_doctor.events.cycle import ParametersCompared, ScalerUsed, SchedulerStepped
from autograd_doctor.events.run import RunEnded
from autograd_doctor.events.steps import BackwardRan, GradientsFoundBefore, OptimizerStepped, UpdatesDiscarded
from autograd_doctor.events.subjects import OptimizerBuilt, ParameterSeen
from autograd_doctor.findings import Evidence, Finding, Location
from autograd_doctor.rules import NO_BEGINNING, Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.learning import awaited, may_be_control, only_gathers, rate_before, taught_before, unchanged
from autograd_doctor.views.rates import rates_of
from autograd_doctor.views.step_cycle import called, ordinal, related
from autograd_doctor.wording import plural


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    still = sorted(unchanged(trace))
    discarded = trace.of(UpdatesDiscarded)
    if not still or awaited(trace) or _is_spoiled(trace) or _rests(trace, still):
        return
    if len(trace.steps) >= tunables["minimum_repeats"]:
        yield _steps_in_vain(trace, still)
    elif len(discarded) >= tunables["minimum_repeats"]:
        yield _updates_in_vain(trace, discarded)


def _rests(trace: Trace, still: list[int]) -> bool:
    """Whether rates are 0, or gradients, that were not earlier in the run: then something was learned."""
    if not any(rates_of(trace.steps)):
        return any(rate_before(trace, step.optimizer) for step in trace.steps)
    is_pushed = any(norm for step in trace.steps for use in step.uses for norm in use.norms)
    return not is_pushed and not taught_before(trace).isdisjoint(still)


def _is_spoiled(trace: Trace) -> bool:
    """What a gradient that is not finite leaves as it was is not finite itself: it was spoiled before, and stays so."""
    return any(not math.isfinite(norm) for step in trace.steps for use in step.uses for norm in use.norms)


def _may_be_a_part(trace: Trace) -> bool:
    """Whether others may learn in another part of the run."""
    return trace.steps_before > 0 or all(may_be_control(trace, step.optimizer) for step in trace.steps)


def _steps_in_vain(trace: Trace, still: list[int]) -> Finding:
    first = trace.steps[0]
    norms = [norm for step in trace.steps for use in step.uses for norm in use.norms]
    rates = rates_of(trace.steps)
    backwards = [event for event in trace.of(BackwardRan) if not event.error]
    there, advice = _what_was_there(trace, norms, rates, backwards)
    source = _source(backwards[0]) if backwards and not norms else None
    gathers = only_gathers(trace.steps)
    evidence: Evidence = {
        "steps": len(trace.steps),
        "steps_with_closure": sum(step.in_closure for step in trace.steps),
        "backwards": len(backwards),
        "parameters": len(still),
        "largest_gradient_norm": max(norms, default="no gradient"),
        "learning_rates": [f"{rate:g}" for rate in rates],
    }
    return RULE.finding(
        f"{plural(len(trace.steps), 'step')} of {called(trace, first.optimizer)} left {trace.parameter_names(still)} "
        f"bit for bit as they were: {there}",
        subject=trace.optimizer_name(first.optimizer),
        location=source or first.location,
        help=advice,
        severity="warning" if gathers else None,
        confidence="medium" if gathers else "high",
        notes=("it has no rate and keeps something for them: it may be there to gather that alone",) if gathers else (),
        so_far=not any(rates) and _may_be_a_part(trace),
        evidence=evidence,
        related=related(
            ("the steps are taken here", first.location if source else None),
            ("the newest backward ran here", backwards[-1].location if backwards else None),
        ),
        step_first=ordinal(first),
        step_count=len(trace.steps),
        parameters=still,
    )


def _source(backward: BackwardRan) -> Location | None:
    """The line that made the leaf on which a backward ran, or that of the backward."""
    return (backward.root.made_at if backward.root.is_leaf else None) or backward.location


def _what_was_there(
    trace: Trace, norms: list[float], rates: list[float], backwards: list[BackwardRan]
) -> tuple[str, str]:
    """What the steps had to go by, and what to look at."""
    if not norms and not backwards:
        return "no backward ran, so there was no gradient", "run `backward()` on the loss before each step"
    if not norms and all(event.kind == "grad" for event in backwards):
        return (
            "`torch.autograd.grad` returned gradients, and no parameter was given any of them",
            "store what `torch.autograd.grad` returns in the `.grad` of each parameter, or call `backward()`",
        )
    if not norms and any(event.root.is_leaf for event in backwards):
        return (
            "backwards ran on a leaf that no operation on the parameters had made, so no parameter got a gradient",
            "compute the loss with operations of torch, from the output of the model to the backward",
        )
    if not norms:
        return (
            "backwards ran, and none of them reached a parameter that is stepped",
            "give the optimizer the very parameters that the loss is computed from",
        )
    if not any(norms):
        return "all their gradients were 0", "look for what makes the loss constant, or its derivative 0 everywhere"
    if not any(rates) and rates:
        return "the learning rate was 0 in every step", "let the rate rise above 0"
    most = f"gradients of a norm up to {max(norms):.2g} and rates up to {max(rates, default=0.0):.2g} had no effect"
    return most, "look at what the step does with them: its conditions for doing nothing, and the size of its updates"


def _updates_in_vain(trace: Trace, discarded: tuple[UpdatesDiscarded, ...]) -> Finding:
    parameters = sorted({parameter for event in discarded for parameter in event.parameters})
    first = discarded[0]
    backwards = [event for event in trace.of(BackwardRan) if not event.error]
    return RULE.finding(
        f"new values of {trace.parameter_names(parameters)} are computed from their gradients here and bound to a name "
        "that nothing reads: gradients were taken of the old values again and again",
        subject=trace.parameter_name(parameters[0]),
        location=first.location or (backwards[0].location if backwards else None),
        help=_keep_them(by_transform=not backwards),
        evidence={"backwards": len(backwards), "discarded_updates": len(discarded), "parameters": len(parameters)},
        related=related(*(("this backward reaches the old values each time", run.location) for run in backwards[:1])),
        step_first=ordinal(first),
        parameters=parameters,
    )


def _keep_them(*, by_transform: bool) -> str:
    if by_transform:
        return "bind the new values to the name that the next step takes gradients of: `params = {name: …}`"
    return "change the parameter itself, under `torch.no_grad()`: `p -= rate * p.grad`, and clear `p.grad` after it"


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(8):
        inputs = torch.randn(16, 4)
        loss = nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
        gradients = torch.autograd.grad(loss, list(model.parameters()))  # <- AD116
        optimizer.step()
    print(len(gradients))


def bad_loop_variable_is_bound_anew() -> None:
    import torch

    torch.manual_seed(0)
    weight = torch.randn(4, 1, requires_grad=True)
    bias = torch.zeros(1, requires_grad=True)
    inputs = torch.randn(64, 4)
    targets = inputs.sum(dim=1, keepdim=True)
    for _ in range(8):
        loss = (inputs @ weight + bias - targets).square().mean()
        loss.backward()
        with torch.no_grad():
            for parameter in (weight, bias):
                assert parameter.grad is not None
                parameter = parameter - 0.1 * parameter.grad  # <- AD116
        weight.grad = bias.grad = None


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(8):
        inputs = torch.randn(16, 4)
        loss = nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
        parameters = list(model.parameters())
        for parameter, gradient in zip(parameters, torch.autograd.grad(loss, parameters), strict=True):
            parameter.grad = gradient
        optimizer.step()


def good_names_are_bound_anew() -> None:
    import torch

    torch.manual_seed(0)
    weight = torch.randn(4, 1, requires_grad=True)
    bias = torch.zeros(1, requires_grad=True)
    inputs = torch.randn(64, 4)
    targets = inputs.sum(dim=1, keepdim=True)
    for _ in range(8):
        loss = (inputs @ weight + bias - targets).square().mean()
        loss.backward()
        assert weight.grad is not None
        assert bias.grad is not None
        weight = (weight - 0.1 * weight.grad).detach().requires_grad_()
        bias = (bias - 0.1 * bias.grad).detach().requires_grad_()


def good_list_of_parameters_is_built_anew() -> None:
    import torch

    torch.manual_seed(0)
    layers = [torch.randn(4, 8) * 0.5, torch.zeros(8), torch.randn(8, 1) * 0.5]
    for layer in layers:
        layer.requires_grad = True
    moved = [torch.zeros_like(layer) for layer in layers]
    for _ in range(8):
        inputs = torch.randn(32, 4)
        hidden = torch.tanh(inputs @ layers[0] + layers[1])
        (hidden @ layers[2] - inputs.sum(dim=1, keepdim=True)).square().mean().backward()
        with torch.no_grad():
            gradients = [layer.grad for layer in layers if layer.grad is not None]
            moved = [0.9 * old + gradient for old, gradient in zip(moved, gradients, strict=True)]
            layers = [layer - 0.05 * update for layer, update in zip(layers, moved, strict=True)]
        for layer in layers:
            layer.requires_grad_()


RULE = Rule(
    code="AD116",
    name="nothing-learned",
    severity="error",
    title="not one parameter changed its value over the whole run",
    observes=(
        "The values of all parameters that an optimizer holds or that a backward wrote a gradient to, compared after "
        "each step with those that they had when they came into view; and new values that were computed from a "
        "parameter and its gradient and died unread, while backwards went on reaching the old ones."
    ),
    why="Whatever the loss says, the model that comes out of this training is the one that went in.",
    fix=(
        "Look at what the finding says of the gradients, the rates and the closures: the steps either find no gradient "
        "for the parameters that they hold, or do nothing with it."
    ),
    fine=(
        "Programs that only evaluate or probe gradients take no steps. If a schedule holds the rate at 0 and the run "
        "was stopped before it could rise, or the gradient scaler skipped every step, the run is not judged. A rate of "
        "0 may be the control of others that a loop has yet to try: until the program has ended, that is a warning. So "
        "is an optimizer without a rate that keeps something for its parameters, such as a Fisher information."
    ),
    needs=(
        BackwardRan,
        GradientsFoundBefore,
        OptimizerBuilt,
        OptimizerStepped,
        ParametersCompared,
        ParameterSeen,
        RunEnded,
        ScalerUsed,
        SchedulerStepped,
        UpdatesDiscarded,
    ),
    examine=examine,
    bad=(bad, bad_loop_variable_is_bound_anew),
    good=(good, good_names_are_bound_anew, good_list_of_parameters_is_built_anew),
    tunables={"minimum_repeats": Tunable(3, "fewest steps, or computed updates, that changed nothing", NO_BEGINNING)},
    folds=("AD203", "AD206"),
)
