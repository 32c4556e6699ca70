"""AD217 graph-lost-in-a-copy: a part of the loss was rebuilt from numbers, beside parts that kept their graph."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from autograd_doctor.events.connectivity import CopyJoined, LossExamined
from autograd_doctor.events.steps import BackwardRan
from autograd_doctor.findings import Finding
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.cuts import called
from autograd_doctor.views.lines import beside, in_several_steps
from autograd_doctor.views.loss_terms import LossTerm, steady_terms


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    terms = [term for term in steady_terms(trace, tunables["backwards"]) if term.seen.copied]
    for term in terms:
        yield _finding(trace, term)
    told = {parameter for term in terms for parameter in term.seen.parameters}
    joins = (event for event in trace.of(CopyJoined) if not told.issuperset(event.parameters))
    for events in in_several_steps(trace, joins, lambda event: event.location, tunables["backwards"]):
        yield _joined(trace, events)


def _joined(trace: Trace, events: Sequence[CopyJoined]) -> Finding:
    """A warning: what a number is for is not seen, and it may be meant as one."""
    first = events[0]
    what = f"`{first.name}`" if first.name else "a part"
    cut = next(iter(first.cuts), None)
    by = f" by {called(cut.operation)}" if cut is not None else ""
    return RULE.finding(
        f"{what} of what `{first.operation}` joins {'seems to be' if first.guessed else 'was'} rebuilt from values of "
        f"{trace.parameter_names(first.parameters)} that left the graph{by}: the gradient reaches them through the "
        "other parts alone",
        subject=first.name or first.operation,
        location=first.location,
        severity="warning",
        confidence="medium",
        help="join the tensors themselves, without converting them to numbers; if the part is meant as a constant, "
        "say so with `detach()`",
        evidence={"parameters": trace.parameter_names(first.parameters), "joined_by": first.operation},
        related=beside(first.location, ("the values left the graph here", cut.location if cut is not None else None)),
        step_first=first.step + 1,
        step_count=len({event.step for event in events}),
        parameters=first.parameters,
    )


def _finding(trace: Trace, term: LossTerm) -> Finding:
    how = f" by {called(term.cut.operation)}" if term.cut is not None and term.cut.operation else ""
    return RULE.finding(
        f"{term.words} {'seems to be' if term.seen.guessed else 'was'} rebuilt from values of "
        f"{trace.parameter_names(term.parameters)} that left the graph{how}, "
        "so this part of the loss has no gradient",
        subject=term.seen.name or term.seen.operation,
        location=term.location,
        help="stay in torch all the way: index and compute with tensors, and join them with `torch.stack` or "
        "`torch.cat`",
        guessed=term.seen.guessed,
        evidence=term.evidence(trace),
        related=tuple(term.related()),
        step_first=term.backwards[0].step + 1,
        step_count=len(term.backwards),
        parameters=term.seen.parameters,
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    goal = torch.tensor([0.5, -0.5])
    for _ in range(10):
        x = torch.randn(4)
        angles = model(x)
        tip = torch.tensor([angles[0].cos() + angles[1].cos(), angles[0].sin() + angles[1].sin()])
        loss = (angles - x[:2]).square().sum() + (tip - goal).square().sum()  # <- AD217
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_list_of_numbers() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(6, 3)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(16, 6)
        logits = model(x)
        spread = torch.tensor([row.std().item() for row in logits]).mean()
        total = nn.functional.cross_entropy(logits, x[:, :3].argmax(1))
        total += 0.1 * spread  # <- AD217
        optimizer.zero_grad()
        total.backward()
        optimizer.step()


def bad_joined() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, head = nn.Linear(6, 8), nn.Linear(10, 1)
    optimizer = torch.optim.Adam([*body.parameters(), *head.parameters()], lr=0.01)
    for _ in range(10):
        x = torch.randn(16, 6)
        hidden = body(x)
        strongest = torch.tensor([[row.max().item(), row.min().item()] for row in hidden])
        predicted = head(torch.cat([hidden, strongest], dim=1))  # <- AD217
        loss = nn.functional.mse_loss(predicted, x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    goal = torch.tensor([0.5, -0.5])
    for _ in range(10):
        x = torch.randn(4)
        angles = model(x)
        tip = torch.stack([angles[0].cos() + angles[1].cos(), angles[0].sin() + angles[1].sin()])
        loss = (angles - x[:2]).square().sum() + (tip - goal).square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_targets_and_weights() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(6, 3)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(16, 6)
        logits = model(x)
        confidence = logits.detach().softmax(1).amax(1).tolist()
        weights = torch.tensor([1.0 - value / 2 for value in confidence])
        soft = torch.tensor(logits.detach().softmax(1).tolist())
        labels = x[:, :3].argmax(1)
        hard = nn.functional.cross_entropy(logits, labels, reduction="none")
        loss = (weights * hard).mean() + 0.1 * nn.functional.cross_entropy(logits, soft)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD217",
    name="graph-lost-in-a-copy",
    severity="error",
    title="a part of the loss was rebuilt without its graph",
    observes="A summand of a loss that went backward, made by `torch.tensor`, from a NumPy array or from a list of "
    "numbers out of values of parameters that the rest of the loss trains. Or a part of what `stack` or `cat` joins "
    "with tensors that kept their graph, rebuilt so in the same step.",
    why="Numbers have no graph: what is rebuilt from them shifts the loss and trains nothing.",
    fix="Compute with tensors all the way and join them with `torch.stack` or `torch.cat`.",
    fine="Targets, masks, indices and weights that are made in that way on purpose; what was detached before; "
    "and a join that holds what kept its graph a second time, as numbers, as with a memory of batches.",
    needs=(BackwardRan, CopyJoined, LossExamined),
    examine=examine,
    bad=(bad, bad_list_of_numbers, bad_joined),
    good=(good, good_targets_and_weights),
    tunables={"backwards": Tunable(2, "fewest backwards with a term that lost its graph in a copy", MORE_THAN_ONCE)},
)
