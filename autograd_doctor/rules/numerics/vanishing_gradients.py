"""AD407 vanishing-gradients: gradients shrink by orders of magnitude on their way to the first layers."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from autograd_doctor.events.numerics import LayersMeasured, LossesFollowed, UpdatesMeasured
from autograd_doctor.events.steps import BackwardRan
from autograd_doctor.findings import Evidence, Finding, Related
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.curves import curves
from autograd_doctor.views.depth import Slope, through_depth, through_time

_ACTIVATIONS = "use an activation that does not saturate (ReLU, GELU), a matching initialisation, normalisation or "
_ENOUGH = 200
"""Backwards after which what can be learned has begun to show, at rates that are usual."""
_NEARLY = 0.97
"""Of the loss at the beginning: batches differ by as much."""
_SOME = 5
"""Losses at either end, of which one alone says little."""
_MEMORY = (
    "a gated cell (LSTM, GRU), a shorter sequence, or a loss at several time steps lets the model learn from early "
    "inputs"
)


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    for slope in through_depth(trace, int(tunables["layers"])):
        if slope.decades <= -tunables["decades"]:
            yield _deep(trace, slope)
    for slope in through_time(trace, int(tunables["times"])):
        if slope.decades <= -tunables["decades_in_time"]:
            yield _long(trace, slope)


def _deep(trace: Trace, slope: Slope) -> Finding:
    near, far = slope.layers[0], slope.layers[-1]
    rescaled = _moves(trace, far.parameters) > 0.1 * _moves(trace, near.parameters) > 0
    return RULE.finding(
        f"gradients shrink by a factor of {10**-slope.decades:.1g} over {len(slope.layers)} layers, from "
        f"{slope.gradients[0]:.2g} at {trace.parameter_names(near.parameters)} to {slope.gradients[-1]:.2g} at "
        f"{trace.parameter_names(far.parameters)}",
        subject=trace.parameter_name(far.parameters[0]),
        location=slope.begins.location,
        help=_ACTIVATIONS + "residual connections",
        severity="info" if rescaled else None,
        evidence=_evidence(trace, slope),
        related=(Related("the backward that was measured", slope.backward),) if slope.backward else (),
        notes=("the optimizer rescales its updates, so the first layers still move",) if rescaled else (),
        step_first=1,
        parameters=[parameter for layer in slope.layers for parameter in layer.parameters],
    )


def _long(trace: Trace, slope: Slope) -> Finding:
    """What is near may be enough to learn from; where nothing is learned, the beginning may be what matters."""
    layer, stays = slope.layers[0], _loss_stays(trace, slope)
    return RULE.finding(
        f"gradients shrink by a factor of {10**-slope.decades:.1g} backward through the sequence: nothing is learned "
        f"from its beginning{', and the loss stays where it was' if stays else ''}",
        subject=trace.parameter_name(layer.parameters[0]),
        location=layer.location,
        help=_MEMORY,
        severity="warning" if stays else "info",
        evidence=_evidence(trace, slope),
        related=(Related("the backward that was measured", slope.backward),) if slope.backward else (),
        step_first=1,
        parameters=layer.parameters,
    )


def _loss_stays(trace: Trace, slope: Slope) -> bool:
    """Whether the loss of these backwards ended, after enough of them, at nearly what it began with."""
    curve = next((each for each in curves(trace) if each.location == slope.backward), None)
    if curve is None or curve.count < _ENOUGH:
        return False
    losses = [loss for _, loss in curve.course]
    return bool(losses) and median(losses[-_SOME:]) > _NEARLY * median(losses[:_SOME]) > 0


def _moves(trace: Trace, parameters: list[int]) -> float:
    """The largest update of these parameters relative to their values, in any recorded step."""
    return max(
        (
            update / weight
            for event in trace.of(UpdatesMeasured)
            for parameter, weight, update in zip(event.parameters, event.weights, event.updates, strict=True)
            if parameter in parameters and weight
        ),
        default=0.0,
    )


def _evidence(trace: Trace, slope: Slope) -> Evidence:
    return {
        "gradients_from_the_loss_on": ", ".join(f"{each:.2g}" for each in slope.gradients),
        "decades": -slope.decades,
        "begins_at": trace.parameter_names(slope.begins.parameters),
    }


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    layers = nn.ModuleList([nn.Linear(16, 16) for _ in range(12)])
    head = nn.Linear(16, 1)
    optimizer = torch.optim.SGD([*layers.parameters(), *head.parameters()], lr=0.1)
    x = torch.randn(64, 16)
    y = x.sum(1, keepdim=True).sign()
    for _ in range(12):
        hidden = x
        for layer in layers:
            hidden = torch.sigmoid(layer(hidden))  # <- AD407
        loss = nn.functional.mse_loss(head(hidden), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    layers = nn.ModuleList([nn.Linear(16, 16) for _ in range(12)])
    norms = nn.ModuleList([nn.LayerNorm(16) for _ in range(12)])
    head = nn.Linear(16, 1)
    optimizer = torch.optim.SGD([*layers.parameters(), *norms.parameters(), *head.parameters()], lr=0.01)
    x = torch.randn(64, 16)
    y = x.sum(1, keepdim=True).sign()
    for _ in range(12):
        hidden = x
        for layer, norm in zip(layers, norms, strict=True):
            hidden = hidden + torch.relu(layer(norm(hidden)))
        loss = nn.functional.mse_loss(head(hidden), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_plain_relu() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    blocks = [module for _ in range(9) for module in (nn.Linear(32, 32), nn.ReLU())]
    model = nn.Sequential(*blocks, nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    x = torch.randn(64, 32)
    for _ in range(12):
        loss = nn.functional.mse_loss(model(x), x.mean(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_branches_that_begin_at_zero() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    blocks = nn.ModuleList([nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16)) for _ in range(6)])
    gates = nn.ParameterList([nn.Parameter(torch.zeros(())) for _ in range(6)])
    head = nn.Linear(16, 1)
    optimizer = torch.optim.Adam([*blocks.parameters(), *gates.parameters(), *head.parameters()], lr=1e-2)
    x = torch.randn(64, 16)
    for _ in range(12):
        hidden = x
        for block, gate in zip(blocks, gates, strict=True):
            hidden = hidden + gate * block(hidden)
        loss = nn.functional.mse_loss(head(hidden), x.prod(1, keepdim=True).tanh())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD407",
    name="vanishing-gradients",
    severity="warning",
    title="gradients vanish before they reach the first layers",
    observes="The gradients that arrive at each layer along the longest path from the loss to the first one, in all "
    "backwards looked at: they shrink gradually by five orders of magnitude. If one layer is applied repeatedly, as "
    "in a recurrent network, by seven: `info`, and a warning if the loss stays where it began.",
    why="The first layers hardly move while the last ones learn from features that stay as random as at the start.",
    fix="Use activations that do not saturate, a matching initialisation, normalisation, residual connections or "
    "gates.",
    fine="Branches and adapters that start at zero recover after a step; a drop at one place is a gate. If the "
    "optimizer rescales its updates, so that the first layers still move, it is an `info`.",
    needs=(BackwardRan, LayersMeasured, LossesFollowed, UpdatesMeasured),
    examine=examine,
    bad=(bad,),
    good=(good, good_plain_relu, good_branches_that_begin_at_zero),
    tunables={
        "layers": Tunable(
            5,
            "fewest consecutive layers that make a path",
            "chosen: fewer do not show a rate of decrease",
        ),
        "decades": Tunable(
            5.0,
            "smallest decrease along the path through layers, in powers of ten",
            "measured: plain ReLU layers with PyTorch's default initialisation lose a factor of 2.4 each, so ten of "
            "them stay within four powers and train; sigmoid layers lose 7 each (derivative of at most 1/4, and gain "
            "of 0.6)",
        ),
        "times": Tunable(
            16,
            "fewest time steps of a sequence that make a path",
            "chosen: recurrent networks are made for longer sequences",
        ),
        "decades_in_time": Tunable(
            7.2,
            "smallest decrease along the path through a sequence, in powers of ten",
            "arithmetic: a gradient below float32 rounding (6e-8), relative to that of the latest input, is lost in a "
            "sum",
        ),
    },
)
