"""AD408 dead-relu: units of a layer that no sample activates."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.numerics import UnitsCounted
from autograd_doctor.findings import Finding, Related
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.connectivity import first_values
from autograd_doctor.views.rates import jump, known

_CAUSES = {
    "silent": "they have been dead since the first step: check the initial bias and scale of the layer, and inputs "
    "that all have the same sign",
    "lost": "they were active at first, and a step moved them so far that none recovered: lower the learning rate or "
    "warm it up",
}


_FEW = 10
"""Units among so many that are lost: with these it had not begun."""


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    for counted in _latest(trace):
        dead = counted.silent + counted.lost
        if counted.samples >= tunables["samples"] and dead >= tunables["share"] * counted.units:
            yield _finding(trace, counted, dead)


def _key(event: UnitsCounted) -> tuple[object, ...]:
    return event.location, event.operation, *event.parameters


def _latest(trace: Trace) -> list[UnitsCounted]:
    """The last word on each layer; of one that is used at several lines, where the fewest units are dead."""
    found = {_key(event): event for event in trace.of(UnitsCounted)}
    layers: dict[tuple[object, ...], list[UnitsCounted]] = {}
    for event in found.values():
        layers.setdefault((event.operation, *event.parameters), []).append(event)
    return [min(lines, key=lambda event: event.silent + event.lost) for lines in layers.values()]


def _rise(trace: Trace, counted: UnitsCounted) -> tuple[Related, ...]:
    """The step with which the rate rose, if that was before most units were lost, and nearly all were still there."""
    words = [event for event in trace.of(UnitsCounted) if _key(event) == _key(counted)]
    lost = next((event.step for event in words if 2 * event.lost >= counted.lost > 0), -1)
    there = [event.step for event in words if event.step < lost and _FEW * event.lost < counted.lost]
    found = jump(trace, counted.parameters, max(there, default=-1), lost)
    if found is None or found[1].location is None:
        return ()
    old, new = (max(known(each.learning_rates)) for each in found)
    first, last = (each.step + 1 for each in found)
    text = f"before that, the learning rate rose from {old:g} in step {first} to {new:g} in step {last}"
    return (Related(text, found[1].location),)


def _finding(trace: Trace, counted: UnitsCounted, dead: int) -> Finding:
    cause = "lost" if counted.lost > counted.silent else "silent"
    layer = trace.parameter_names(counted.parameters)
    return RULE.finding(
        f"{dead} of {counted.units} units after {layer} are inactive on all of the last {counted.samples} samples: "
        f"`{counted.operation}` outputs zero for them, and they can no longer learn",
        subject=trace.parameter_name(counted.parameters[0]),
        location=counted.location,
        help=_CAUSES[cause] + "; `leaky_relu` and GELU have a gradient on both sides",
        evidence={
            "units": counted.units,
            "never_active": counted.silent,
            "no_longer_active": counted.lost,
            "share": dead / counted.units,
            "samples": counted.samples,
            "steps_looked_at": counted.looks,
        },
        related=_rise(trace, counted) if cause == "lost" else first_values(trace, counted.filled_at),
        step_first=1,
        parameters=counted.parameters,
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    first, second, head = nn.Linear(8, 32), nn.Linear(8, 32), nn.Linear(64, 1)
    nn.init.constant_(first.bias, -20.0)
    optimizer = torch.optim.Adam([*first.parameters(), *second.parameters(), *head.parameters()], lr=1e-3)
    for _ in range(10):
        x = torch.randn(64, 8)
        left = first(x).relu()  # <- AD408
        right = second(x).tanh()
        loss = nn.functional.mse_loss(head(torch.cat([left, right], 1)), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(10):
        x = torch.randn(64, 8)
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_sparse() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder = nn.Linear(16, 128), nn.Linear(128, 16)
    nn.init.constant_(encoder.bias, -1.0)
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-3)
    for _ in range(10):
        x = torch.randn(64, 16)
        code = encoder(x).relu()
        loss = nn.functional.mse_loss(decoder(code), x) + 1e-3 * code.sum(1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_limit() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 6))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(10):
        x = torch.randn(64, 8)
        actions = model(x)
        beyond = torch.relu(actions - 3.0).square() + torch.relu(-3.0 - actions).square()
        loss = nn.functional.mse_loss(actions, x[:, :6]) + beyond.mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD408",
    name="dead-relu",
    severity="warning",
    title="most units of a layer are dead",
    observes="For each layer, the units after a ReLU, or another limit of 0 from below, that were active on no sample "
    "of any batch looked at, or of the last three: channels of a convolution, entries of the last dimension otherwise.",
    why="The gradient of an inactive ReLU is zero: a unit that is active on no sample gets no gradient, and training "
    "cannot revive it.",
    fix="Check the layer's initialisation and the scale of its inputs, lower the learning rate, or use an activation "
    "with a gradient on both sides.",
    fine="Sparse activations that are active on some sample; experts that got no samples; limits such as `relu(x - "
    "3)` in a loss, which no layer takes as input.",
    needs=(UnitsCounted,),
    examine=examine,
    bad=(bad,),
    good=(good, good_sparse, good_limit),
    tunables={
        "share": Tunable(
            0.8,
            "smallest share of the units of a layer that are dead",
            "measured: layers of plain ReLU networks lose up to half of their units at random, since all samples look "
            "alike deep in the network (see also Lu et al. 2019, Dying ReLU and Initialization)",
        ),
        "samples": Tunable(
            32,
            "fewest samples, none of which activates the unit",
            "arithmetic: a unit that one sample in ten activates is inactive on 32 samples in 3% of cases",
        ),
    },
    folds=("AD410", "AD407", "AD606", "AD111", "AD116"),
)
