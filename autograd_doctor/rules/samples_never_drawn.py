"""AD711: random indices come from a range that never reaches part of the data."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events import RowsNeverDrawn
from autograd_doctor.findings import Finding, Location, Related
from autograd_doctor.rules import Rule, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.wording import plural


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    """Of a program that has ended: what is not used yet may be meant for later."""
    if trace.end is None or trace.end.reason != "finished":
        return
    told: set[Location | None] = set()
    for event in trace.of(RowsNeverDrawn):
        if event.samples >= tunables["samples"] and event.location not in told:
            told.add(event.location)
            yield _finding(event)


def _finding(event: RowsNeverDrawn) -> Finding:
    name = f"`{event.name}`" if event.name else "the data"
    left_out = event.rows - (event.high - event.low)
    related = Related("takes the rows", event.chosen_at) if event.chosen_at else None
    otherwise = "evaluated on them only together with those" if event.evaluated else "used them for nothing else"
    return RULE.finding(
        f"indices are drawn from {event.low:,} to {event.high - 1:,}, and {name} has {plural(event.rows, 'row')}: "
        f"{left_out:,} of them can never come, and the program {otherwise}",
        subject=event.name or "indices",
        location=event.location,
        severity="info" if event.evaluated else None,
        confidence="low" if event.evaluated else "medium",
        help="draw from all rows, `torch.randint(len(x), …)`, whose upper end is left out already",
        evidence={"low": event.low, "high": event.high, "rows": event.rows, "left_out": left_out},
        related=(related,) if related is not None else (),
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(500, 8)
    y = x.sum(1, keepdim=True)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(12):
        rows = torch.randint(0, 50, (16,))  # <- AD711
        loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(500, 8)
    y = x.sum(1, keepdim=True)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(12):
        rows = torch.randint(len(x), (16,))
        loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_rest_held_out() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(500, 8)
    y = x.sum(1, keepdim=True)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(12):
        rows = torch.randint(0, 400, (16,))
        loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        print(nn.functional.mse_loss(model(x[400:]), y[400:]).item())


def good_what_comes_next() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(500, 8).cumsum(0) / 20
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(40):
        rows = torch.randint(0, 499, (200,))
        loss = nn.functional.mse_loss(model(x[rows]), x[rows + 1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD711",
    name="samples-never-drawn",
    severity="warning",
    title="part of the data can never be drawn",
    observes="The range of `torch.randint`, where its indices take rows of a tensor that has more, in a program that "
    "has run to its end and used the others for nothing.",
    why="Data that were collected, and perhaps paid for, teach nothing.",
    fix="Draw from all rows.",
    fine="Rows that are held out and used elsewhere, subsets that are a tensor of their own, and samples that need "
    "their successor.",
    needs=(RowsNeverDrawn,),
    examine=examine,
    bad=(bad,),
    good=(good, good_rest_held_out, good_what_comes_next),
    tunables={"samples": 32},
)
