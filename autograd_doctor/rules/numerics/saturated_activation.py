"""AD409 saturated-activation: sigmoid, tanh or softmax lie at their limits from the first step on."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.numerics import SaturationMeasured
from autograd_doctor.findings import Finding
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.connectivity import first_values
from autograd_doctor.wording import plural


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    for measured in _latest(trace):
        if min(measured.shares) >= tunables["share"] and _is_both_sided(measured, tunables["other_side"]):
            yield _finding(trace, measured)


def _latest(trace: Trace) -> list[SaturationMeasured]:
    found = {(event.location, event.operation, *event.parameters): event for event in trace.of(SaturationMeasured)}
    return list(found.values())


def _is_both_sided(measured: SaturationMeasured, least: float) -> bool:
    """Gates that are meant to start closed, or open, all lie at one limit; large inputs drive values to both."""
    return measured.at_low is None or least <= measured.at_low <= 1 - least


def _finding(trace: Trace, measured: SaturationMeasured) -> Finding:
    """A hint where nobody has watched the run from its start: what has learned may well be certain."""
    softmax = measured.at_low is None
    what = "rows of" if softmax else "values of"
    layer = f" after {trace.parameter_names(measured.parameters)}" if measured.parameters else ""
    return RULE.finding(
        f"{min(measured.shares):.0%} or more of the {what} `{measured.operation}`{layer} are saturated in each of "
        f"{plural(len(measured.shares), 'step')}: its inputs range from {measured.low:.4g} to {measured.high:.4g}",
        subject=trace.parameter_name(measured.parameters[0]) if measured.parameters else measured.operation,
        location=measured.location,
        severity="info" if trace.steps_before else None,
        help="divide the scores by the square root of the vector length, or normalise the vectors that they are "
        "computed from"
        if softmax
        else "normalise the inputs of the layer, or initialise it with smaller weights",
        evidence={
            "operation": measured.operation,
            "shares": ", ".join(f"{share:.2f}" for share in measured.shares),
            "input_low": measured.low,
            "input_high": measured.high,
        },
        notes=("a saturated activation has almost no gradient",),
        related=first_values(trace, measured.filled_at),
        step_first=1,
        step_count=len(measured.shares),
        parameters=measured.parameters,
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    first, second = nn.Linear(6, 16), nn.Linear(16, 1)
    optimizer = torch.optim.Adam([*first.parameters(), *second.parameters()], lr=1e-3)
    for _ in range(10):
        x = torch.randn(64, 6)
        hidden = torch.tanh(first(x * 1000))  # <- AD409
        loss = nn.functional.mse_loss(second(hidden), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_attention() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    queries, keys, values = nn.Linear(8, 512), nn.Linear(8, 512), nn.Linear(8, 1)
    parameters = [*queries.parameters(), *keys.parameters(), *values.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=1e-4)
    for _ in range(10):
        x = torch.randn(16, 10, 8) * 4
        scores = queries(x) @ keys(x).mT
        weights = scores.softmax(-1)  # <- AD409
        loss = nn.functional.mse_loss((weights @ values(x)).mean(1), x.mean((1, 2))[:, None])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    first, second = nn.Linear(6, 16), nn.Linear(16, 1)
    optimizer = torch.optim.Adam([*first.parameters(), *second.parameters()], lr=1e-3)
    for _ in range(10):
        x = torch.randn(64, 6)
        hidden = torch.tanh(first(x))
        loss = nn.functional.mse_loss(second(hidden), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_closed_gate() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, gate, head = nn.Linear(8, 16), nn.Linear(8, 16), nn.Linear(16, 1)
    nn.init.constant_(gate.bias, -8.0)
    optimizer = torch.optim.Adam([*body.parameters(), *gate.parameters(), *head.parameters()], lr=1e-3)
    for _ in range(10):
        x = torch.randn(64, 8)
        hidden = x.repeat(1, 2) + torch.sigmoid(gate(x)) * body(x).tanh()
        loss = nn.functional.mse_loss(head(hidden), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_steep_on_purpose() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    score, threshold, head = nn.Linear(8, 24), nn.Linear(8, 24), nn.Linear(24, 1)
    parameters = [*score.parameters(), *threshold.parameters(), *head.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=1e-3)
    for _ in range(10):
        x = torch.randn(64, 8)
        binary = torch.sigmoid(50.0 * (score(x) - threshold(x)))
        loss = nn.functional.mse_loss(head(binary), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD409",
    name="saturated-activation",
    severity="warning",
    title="an activation is saturated for most samples",
    observes="The share of sigmoid or tanh values whose derivative is below 0.001, or of softmax rows with one entry "
    "above 0.99, in the training forwards looked at, from the first one on.",
    why="Hardly any gradient gets through, so the layers before the activation do not learn, and its output is little "
    "more than a sign.",
    fix="Normalise the inputs, initialise with smaller weights, or divide scores by the square root of the vector "
    "length.",
    fine="Gates that start closed or open saturate at one side only; outputs that become certain late in training "
    "were not saturated from the start; an input that is scaled up by a single number right before, as by a small "
    "temperature, is intended, be it a constant or learned; so are scores that a term which nothing learns, as one of "
    "positions, decides alone.",
    needs=(SaturationMeasured,),
    examine=examine,
    bad=(bad, bad_attention),
    good=(good, good_closed_gate, good_steep_on_purpose),
    tunables={
        "share": Tunable(
            0.5,
            "smallest share of saturated values, in each of the first steps",
            "measured: in the healthy test programs it is smaller in one of these steps",
        ),
        "other_side": Tunable(
            0.02,
            "smallest share of values at each of the two limits",
            "chosen: gates that are meant to start open or closed saturate at one",
        ),
    },
    folds=("AD407", "AD410", "AD606"),
)
