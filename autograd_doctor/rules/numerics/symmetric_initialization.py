"""AD411 symmetric-initialization: units of a layer begin equal, get equal gradients, and stay equal."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.numerics import UnitsAlike
from autograd_doctor.events.subjects import OptimizerBuilt
from autograd_doctor.findings import Finding, Related
from autograd_doctor.rules import Rule, Tunables
from autograd_doctor.trace import Trace


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    """Layers that one line has filled are one fault."""
    by_line: dict[object, list[UnitsAlike]] = {}
    for event in trace.of(UnitsAlike):
        by_line.setdefault(event.filled_at or event.parameter, []).append(event)
    for events in by_line.values():
        yield _finding(trace, events)


def _finding(trace: Trace, events: list[UnitsAlike]) -> Finding:
    first = events[0]
    parameters = [event.parameter for event in events]
    seen = trace.parameters.get(first.parameter)
    registered = seen.registered_at if seen else None
    return RULE.finding(
        f"all {first.units} units of {trace.parameter_names(parameters)} started equal, got equal gradients and are "
        f"still equal after {first.updates} updates: the layer can do no more than a single unit",
        subject=trace.parameter_name(first.parameter),
        location=first.filled_at or registered,
        help="initialise the weights with different values, as `nn.init.xavier_uniform_` or the layer's own "
        "initialisation does; only biases and scales may start constant",
        evidence={"units": first.units, "updates": first.updates, "layers": len(events)},
        related=(Related("the layer was built here", registered),) if registered and first.filled_at else (),
        step_first=1,
        step_count=first.updates + 1,
        parameters=parameters,
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1))
    for module in model:
        if isinstance(module, nn.Linear):
            nn.init.zeros_(module.bias)
            nn.init.constant_(module.weight, 0.1)  # <- AD411
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    x = torch.randn(64, 6)
    for _ in range(10):
        loss = nn.functional.mse_loss(model(x), x[:, :1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    hidden, head = nn.Linear(6, 16), nn.Linear(16, 3)
    nn.init.zeros_(hidden.bias)
    nn.init.zeros_(head.weight)
    optimizer = torch.optim.SGD([*hidden.parameters(), *head.parameters()], lr=0.05)
    x = torch.randn(64, 6)
    for _ in range(10):
        loss = nn.functional.mse_loss(head(hidden(x).tanh()), x[:, :3])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_one_layer_constant() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    down, up, head = nn.Linear(8, 4, bias=False), nn.Linear(4, 8, bias=False), nn.Linear(8, 1)
    nn.init.zeros_(up.weight)
    optimizer = torch.optim.Adam([*down.parameters(), *up.parameters(), *head.parameters()], lr=0.01)
    x = torch.randn(64, 8)
    for _ in range(10):
        loss = nn.functional.mse_loss(head(x + up(down(x))), x.prod(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD411",
    name="symmetric-initialization",
    severity="warning",
    title="the units of a layer are copies of one another",
    observes="A weight matrix whose rows are equal up to rounding, in four steps with gradients whose rows are also "
    "equal.",
    why="Units that start equal and get the same gradient stay equal forever: a layer of a hundred units computes "
    "what one unit could.",
    fix="Initialise weights with different values; constants are for biases and scales.",
    fine="Layers that start at zero after layers that do not, such as adapters and last layers: their units get "
    "different gradients at once.",
    needs=(UnitsAlike, OptimizerBuilt),
    examine=examine,
    bad=(bad,),
    good=(good, good_one_layer_constant),
)
