"""AD406 exploding-gradients: gradients grow by orders of magnitude, on their way back or from step to step."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from autograd_doctor.events.cycle import GradientsClipped
from autograd_doctor.events.numerics import LayersMeasured, UpdatesMeasured
from autograd_doctor.events.steps import OptimizerStepped
from autograd_doctor.events.subjects import OptimizerBuilt
from autograd_doctor.findings import Finding, Related
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.depth import Slope, through_depth, through_time
from autograd_doctor.views.magnitudes import gradient_totals, relative_updates, rescales, tamed
from autograd_doctor.wording import plural


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    slopes = [*through_depth(trace, int(tunables["layers"])), *through_time(trace, int(tunables["times"]))]
    for slope in slopes:
        parameters = [parameter for layer in slope.layers for parameter in layer.parameters]
        if slope.decades >= tunables["decades"] and not tamed(trace, parameters):
            yield _on_its_way(trace, slope, parameters)
            return
    for optimizer, held in trace.optimizer_parameters.items():
        totals = [(step, total) for step, other, total, _ in gradient_totals(trace) if other == optimizer]
        if _explode(totals, tunables) and not tamed(trace, held) and _is_felt(trace, optimizer, tunables):
            yield _over_steps(trace, optimizer, totals)


def _explode(totals: list[tuple[int, float]], tunables: Tunables) -> bool:
    """Whether the last norms stand orders of magnitude above the first ones."""
    norms = [total for _, total in totals if total]
    if len(norms) < tunables["steps"]:
        return False
    return min(norms[-2:]) > 10 ** tunables["decades"] * median(norms[:3])


def _is_felt(trace: Trace, optimizer: int, tunables: Tunables) -> bool:
    """Whether updates are large as well: some optimizers do not care how large gradients are."""
    measured = relative_updates(trace, optimizer)
    return bool(measured) and measured[-1].typical >= tunables["large_ratio"]


def _on_its_way(trace: Trace, slope: Slope, parameters: list[int]) -> Finding:
    in_time = slope.times > 1
    holders = [optimizer for optimizer, held in trace.optimizer_parameters.items() if held & set(parameters)]
    rescaled = not in_time and bool(holders) and all(rescales(trace, optimizer) for optimizer in holders)
    where = "through the sequence" if in_time else f"through {len(slope.layers)} layers"
    return RULE.finding(
        f"gradients grow by a factor of {10**slope.decades:.1g} backward {where}, from {slope.gradients[0]:.2g} to "
        f"{slope.gradients[-1]:.2g}, and nothing clips them",
        subject=trace.parameter_name(parameters[0]),
        location=slope.begins.location,
        help="clip gradients (`torch.nn.utils.clip_grad_norm_`) between backward and step"
        + ("" if in_time else ", and add normalisation between the layers or initialise them with a smaller gain"),
        severity="info" if rescaled else None,
        evidence={
            "gradients_from_the_loss_on": ", ".join(f"{each:.2g}" for each in slope.gradients),
            "decades": slope.decades,
            "begins_at": trace.parameter_names(slope.begins.parameters),
        },
        related=(Related("the backward that was measured", slope.backward),) if slope.backward else (),
        notes=("the optimizer rescales its updates, so the first layers move no further than the last",)
        if rescaled
        else (),
        step_first=1,
        parameters=parameters,
    )


def _over_steps(trace: Trace, optimizer: int, totals: list[tuple[int, float]]) -> Finding:
    built = trace.optimizers.get(optimizer)
    first, last = totals[0], totals[-1]
    return RULE.finding(
        f"the norm of the gradients that `{trace.optimizer_name(optimizer)}` uses grows from {first[1]:.2g} to "
        f"{last[1]:.2g} in {plural(last[0] - first[0], 'step')}, and nothing clips them",
        subject=trace.optimizer_name(optimizer),
        location=built.location if built else None,
        help="clip gradients (`torch.nn.utils.clip_grad_norm_`) between backward and step, and lower the learning rate",
        confidence="medium",
        evidence={"norms": ", ".join(f"{total:.2g}" for _, total in totals[:: max(1, len(totals) // 8)])},
        step_first=first[0] + 1,
        step_count=last[0] - first[0] + 1,
        parameters=sorted(trace.optimizer_parameters[optimizer]),
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    cell = nn.RNNCell(4, 32, nonlinearity="relu")
    nn.init.orthogonal_(cell.weight_hh, gain=1.9)
    head = nn.Linear(32, 1)
    optimizer = torch.optim.Adam([*cell.parameters(), *head.parameters()], lr=1e-5)
    for _ in range(8):
        series = torch.randn(16, 40, 4)
        hidden = torch.zeros(16, 32)
        for moment in series.unbind(1):
            hidden = cell(moment, hidden)  # <- AD406
        loss = nn.functional.mse_loss(head(hidden) * 1e-9, series.mean((1, 2))[:, None])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    cell = nn.RNNCell(4, 32, nonlinearity="relu")
    nn.init.orthogonal_(cell.weight_hh)
    head = nn.Linear(32, 1)
    optimizer = torch.optim.Adam([*cell.parameters(), *head.parameters()], lr=1e-3)
    for _ in range(8):
        series = torch.randn(16, 40, 4)
        hidden = torch.zeros(16, 32)
        for moment in series.unbind(1):
            hidden = cell(moment, hidden)
        loss = nn.functional.mse_loss(head(hidden), series.mean((1, 2))[:, None])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_clipped() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    cell = nn.RNNCell(4, 32, nonlinearity="relu")
    nn.init.orthogonal_(cell.weight_hh, gain=1.9)
    head = nn.Linear(32, 1)
    parameters = [*cell.parameters(), *head.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=1e-5)
    for _ in range(8):
        series = torch.randn(16, 40, 4)
        hidden = torch.zeros(16, 32)
        for moment in series.unbind(1):
            hidden = cell(moment, hidden)
        loss = nn.functional.mse_loss(head(hidden) * 1e-9, series.mean((1, 2))[:, None])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, 1e-7)
        optimizer.step()


RULE = Rule(
    code="AD406",
    name="exploding-gradients",
    severity="warning",
    title="gradients explode",
    observes="Gradients that grow gradually, by a factor of 300 or more, along the longest path from the loss to the "
    "first layer, or through the repeated applications of one layer, in all backwards looked at; or gradient norms "
    "that grow as much over the steps of an optimizer, together with the updates. No clipping took effect.",
    why="A single bad batch is enough to move the weights so far away that they may not recover.",
    fix="Clip gradients between backward and step, add normalisation between layers, or initialise with a smaller "
    "gain.",
    fine="Large norms that are clipped. If the optimizer rescales its updates, as Adam does, so that the first layers "
    "move no further than the last, it is an `info`. Through time that does not help: the gradients of one layer are "
    "summed first, and the largest dominate.",
    needs=(LayersMeasured, UpdatesMeasured, OptimizerStepped, OptimizerBuilt, GradientsClipped),
    examine=examine,
    bad=(bad,),
    good=(good, good_clipped),
    tunables={
        "layers": Tunable(
            5,
            "fewest consecutive layers that make a path",
            "chosen: fewer do not show a rate of growth",
        ),
        "times": Tunable(
            16,
            "fewest time steps of a sequence that make a path",
            "chosen: recurrent networks are made for longer sequences",
        ),
        "decades": Tunable(
            2.5,
            "smallest growth, in powers of ten",
            "measured: in the healthy test programs, gradients grow by at most two",
        ),
        "steps": Tunable(
            8,
            "fewest steps with a gradient, to compare the first with the last",
            "chosen: three of the first and two of the last, with room in between",
        ),
        "large_ratio": Tunable(
            0.1,
            "smallest typical update, relative to the weights, at which growth over the steps matters",
            "measured: in the healthy test programs it is smaller",
        ),
    },
    folds=("AD413", "AD414"),
)
