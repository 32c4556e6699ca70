"""AD217 graph-lost-in-a-copy: a part of the loss was rebuilt from numbers, beside parts that kept their graph."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.connectivity import LossExamined
from autograd_doctor.events.steps import BackwardRan
from autograd_doctor.findings import Finding
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.cuts import called
from autograd_doctor.views.loss_terms import LossTerm, steady_terms


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    for term in steady_terms(trace, tunables["backwards"]):
        if term.seen.copied:
            yield _finding(trace, term)


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
    "numbers out of values of parameters that the rest of the loss trains.",
    why="Numbers have no graph: what was rebuilt from them shifts the loss and teaches nothing.",
    fix="Compute with tensors all the way and join them with `torch.stack` or `torch.cat`.",
    fine="Targets, masks, indices and weights that are made in that way on purpose.",
    needs=(BackwardRan, LossExamined),
    examine=examine,
    bad=(bad, bad_list_of_numbers),
    good=(good, good_targets_and_weights),
    tunables={"backwards": Tunable(2, "fewest backwards with a term that lost its graph in a copy", MORE_THAN_ONCE)},
)
