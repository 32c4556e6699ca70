"""AD417 term-decided-by-mask: what a mask filled in is chosen in every row, and holds a term of the loss constant."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from autograd_doctor.events.numerics import ChoiceSwallowed
from autograd_doctor.findings import Finding, Location
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.lines import beside
from autograd_doctor.wording import plural


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    lines: dict[Location | None, list[ChoiceSwallowed]] = defaultdict(list)
    for event in trace.of(ChoiceSwallowed):
        lines[event.location].append(event)
    for events in lines.values():
        if len({event.step for event in events}) >= tunables["steps"] and all(event.swallowed for event in events):
            yield _finding(trace, events)


def _finding(trace: Trace, events: Sequence[ChoiceSwallowed]) -> Finding:
    first, steps = events[0], len({event.step for event in events})
    size = "infinite" if first.value is None else f"{first.value:g}"
    where = first.written_at or first.chosen_at
    return RULE.finding(
        f"a mask decides this term of the loss: in all {plural(steps, 'step')} that were looked at, "
        f"`{first.chosen_by}` takes what the mask filled in, which is {size}, and `{first.operation}` makes the same "
        f"number of all {first.elements} elements. The term has no gradient",
        subject=first.operation,
        location=where,
        confidence="high" if first.value is None else "medium",
        help="fill in what the choice never takes: `-inf` before a maximum, `inf` before a minimum; where the values "
        "are negated between mask and choice, as in `1 - similarity`, the other sign",
        evidence={"steps": steps, "elements": first.elements, "value": size},
        related=beside(
            where,
            (f"`{first.chosen_by}` chooses here", first.chosen_at),
            (f"`{first.operation}` makes one number of all here", first.location),
        ),
        step_first=first.step + 1,
        step_count=steps,
        parameters=first.parameters,
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net, head = nn.Linear(6, 4), nn.Linear(4, 1)
    optimizer = torch.optim.Adam([*net.parameters(), *head.parameters()], lr=0.01)
    itself = torch.eye(16, dtype=torch.bool)
    for _ in range(12):
        x = torch.randn(16, 6)
        one, other = net(x), net(x + 0.1 * torch.randn(16, 6))
        similar = torch.cdist(one, one).neg().masked_fill(itself, float("-inf"))  # <- AD417
        hardest = similar.min(1).values.neg()
        apart = torch.relu((one - other).norm(dim=1) - hardest + 1)
        loss = apart.mean() + (head(one) - x[:, :1]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net, head = nn.Linear(6, 4), nn.Linear(4, 1)
    optimizer = torch.optim.Adam([*net.parameters(), *head.parameters()], lr=0.01)
    itself = torch.eye(16, dtype=torch.bool)
    for _ in range(12):
        x = torch.randn(16, 6)
        one, other = net(x), net(x + 0.1 * torch.randn(16, 6))
        similar = torch.cdist(one, one).neg().masked_fill(itself, float("-inf"))
        hardest = similar.max(1).values.neg()
        apart = torch.relu((one - other).norm(dim=1) - hardest + 1)
        loss = apart.mean() + (head(one) - x[:, :1]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD417",
    name="term-decided-by-mask",
    severity="warning",
    title="a mask holds a term of the loss constant",
    observes="Terms of a loss in which a hinge, a clamp or the like makes one number of all elements, because each of "
    "them is an infinity, or a number of at least 10,000, that a maximum, a minimum or a `topk` took in each row from "
    "values that a mask had left, in every step.",
    why="The mask was to keep some candidates from being chosen, and has the wrong sign: now no other one ever is. The "
    "hinge takes the infinity for a pair that is as far apart as can be: no NaN shows it, and nothing is learned.",
    fix="Fill in `-inf` before a maximum and `inf` before a minimum.",
    fine="Hinges that are zero because everything is far enough apart. Rows in which a mask leaves nothing to choose "
    "from, as in a batch without negatives; bounds and margins that are infinite; masks that decide some elements "
    "alone, or in some steps; and what is masked before a softmax.",
    needs=(ChoiceSwallowed,),
    examine=examine,
    bad=(bad,),
    good=(good,),
    tunables={
        "steps": Tunable(3, "fewest steps in which the mask decided all", "chosen: a batch or two may be odd"),
    },
    about="loss",
)
