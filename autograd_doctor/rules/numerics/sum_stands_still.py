"""AD415 sum-stands-still: what is added to a number that is counted up is lost to rounding."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.numerics import SumStoodStill
from autograd_doctor.findings import Finding, Location
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.trace import Trace

_WHOLE = {"bfloat16": "256", "float16": "2,048", "float32": "16,777,216"}
"""The whole numbers up to which a dtype can count: 2 to the power of the bits of its significand."""


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    by_line: dict[Location | None, list[SumStoodStill]] = {}
    for event in trace.of(SumStoodStill):
        by_line.setdefault(event.location, []).append(event)
    for location, events in by_line.items():
        if len(events) >= tunables["steps"] and len({event.value for event in events}) == 1:
            yield _finding(location, events)


def _finding(location: Location | None, events: list[SumStoodStill]) -> Finding:
    first = events[0]
    limit = f"; {first.dtype} can count in ones only up to {_WHOLE[first.dtype]}" if first.dtype in _WHOLE else ""
    return RULE.finding(
        f"{f'`{first.name}`' if first.name else 'what is counted here'} is stuck at {first.value:g}: adding "
        f"{first.added:g} to it changes nothing in {first.dtype}{limit}",
        subject=first.name or "sum",
        location=location,
        help="count with an `int` or an integer tensor, and sum in float32 or a Python float",
        evidence={"value": first.value, "added": first.added, "dtype": first.dtype},
        step_first=first.step + 1,
        step_count=len(events),
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(6, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    calls = torch.tensor(250, dtype=torch.bfloat16)
    for _ in range(30):
        x = torch.randn(64, 6)
        calls += 1  # <- AD415
        warm = (calls.float() / 1000).clamp(max=1)
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)) * warm
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(6, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    total, seen = torch.zeros(()), torch.zeros((), dtype=torch.long)
    for _ in range(20):
        x = torch.randn(64, 6)
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.detach()
        seen += 64
        share = loss.detach() / (total + 1e-12)
        total = total + 0.0 * share


RULE = Rule(
    code="AD415",
    name="sum-stands-still",
    severity="warning",
    title="a counter or sum no longer changes because of rounding",
    observes="Single numbers in floating-point tensors to which a line adds repeatedly, and which stay bitwise the "
    "same when a nonzero value is added.",
    why="A counter that no longer counts freezes warm-ups, averages and schedules; a sum of losses is too small from "
    "then on. No error is raised.",
    fix="Count with integers, and sum in a dtype with more precision.",
    fine="Small constants that keep a divisor from 0, and what fades away by itself, as the steps of an average that "
    "has converged.",
    needs=(SumStoodStill,),
    examine=examine,
    bad=(bad,),
    good=(good,),
    tunables={"steps": Tunable(2, "fewest steps in which adding had no effect", MORE_THAN_ONCE)},
    references=("https://docs.pytorch.org/docs/stable/notes/numerical_accuracy.html",),
)
