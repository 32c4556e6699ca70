"""AD624 scores-confined: the scores of classes are so near to one another that the loss cannot fall."""

from __future__ import annotations

import math
from collections.abc import Iterator

from autograd_doctor.events.losses import NormalisedAcross, ScoresConfined
from autograd_doctor.findings import Finding, Location
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.lines import in_several_steps
from autograd_doctor.views.step_cycle import related
from autograd_doctor.wording import shape


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    told: set[Location | None] = set()
    for event in trace.of(ScoresConfined):
        chance, least = math.log(event.classes), _least(event)
        if event.location not in told and least > tunables["share"] * chance:
            told.add(event.location)
            yield _finding(event, chance, least)
    across = in_several_steps(trace, trace.of(NormalisedAcross), lambda event: event.location, 2)
    yield from (_across(first) for first, *_ in across)


def _across(event: NormalisedAcross) -> Finding:
    size = shape(event.shape)
    return RULE.finding(
        f"the scores of the loss are products of vectors that were normalised over the wrong dimension: of the first, "
        f"{size}, each column has length 1, and rows, of which the products are, have lengths from {event.low:.2g} to "
        f"{event.high:.2g}",
        subject="normalize",
        location=event.normalised_at or event.location,
        severity="warning",
        confidence="medium",
        help="normalise each vector over its own values, the dimension that the product sums up: "
        "`normalize(x, dim=-1)`",
        evidence={"shortest": event.low, "longest": event.high},
        related=related(("the loss takes them for scores", event.location if event.normalised_at else None)),
        step_first=event.step + 1,
    )


def _least(event: ScoresConfined) -> float:
    """The cross entropy where the right class has the highest score that it can have, and all others the lowest."""
    return math.log1p((event.classes - 1) * math.exp(-2 * event.bound))


def _finding(event: ScoresConfined, chance: float, least: float) -> Finding:
    return RULE.finding(
        f"the scores of {event.classes} classes are similarities of unit vectors, within ±{event.bound:.3g}: the loss "
        f"cannot fall below {least:.4g}, and is {chance:.4g} where nothing is known",
        subject="cross_entropy",
        location=event.scaled_at or event.location,
        help="divide the similarities by the temperature: multiplied by a number below 1, they come still closer"
        if event.scaled_at is not None
        else "divide the similarities by a temperature, such as 0.07",
        evidence={"bound": event.bound, "classes": event.classes, "least_loss": least, "loss_by_chance": chance},
        related=related(("the loss takes them for scores", event.location if event.scaled_at is not None else None)),
        step_first=event.step + 1,
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    users, items = nn.Linear(8, 6), nn.Linear(8, 6)
    optimizer = torch.optim.Adam([*users.parameters(), *items.parameters()], lr=0.01)
    for _ in range(8):
        x = torch.randn(32, 8)
        one = nn.functional.normalize(users(x), dim=1)
        other = nn.functional.normalize(items(x + 0.1 * torch.randn(32, 8)), dim=1)
        scores = one @ other.t() * 0.07  # <- AD624
        loss = nn.functional.cross_entropy(scores, torch.arange(32))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    users, items = nn.Linear(8, 6), nn.Linear(8, 6)
    optimizer = torch.optim.Adam([*users.parameters(), *items.parameters()], lr=0.01)
    for _ in range(8):
        x = torch.randn(32, 8)
        one = nn.functional.normalize(users(x), dim=1)
        other = nn.functional.normalize(items(x + 0.1 * torch.randn(32, 8)), dim=1)
        loss = nn.functional.cross_entropy(one @ other.t() / 0.07, torch.arange(32))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_learned_scale() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    tower, names = nn.Linear(8, 6), nn.Embedding(10, 6)
    scale = nn.Parameter(torch.tensor(0.1))
    optimizer = torch.optim.Adam([*tower.parameters(), *names.parameters(), scale], lr=0.01)
    for _ in range(8):
        x = torch.randn(32, 8)
        labels = torch.randint(0, 10, (32,))
        one, all_names = nn.functional.normalize(tower(x), dim=1), nn.functional.normalize(names.weight, dim=1)
        loss = nn.functional.cross_entropy(one @ all_names.t() * scale, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD624",
    name="scores-confined",
    severity="warning",
    title="the scores of classes cannot differ enough for the loss to fall",
    observes="Products of vectors of length 1 that reach a cross entropy, times or divided by a number that is not "
    "learned, and the least loss that scores within these bounds can have; and products of vectors both of which were "
    "normalised over the dimension that the product does not sum up.",
    why="A softmax over scores that differ by a few hundredths is nearly even, whatever the model learns: the loss "
    "stays where chance puts it, and the gradients are small and alike.",
    fix="Divide similarities by a temperature well below 1, and normalise vectors over their own values.",
    fine="Similarities as they are, over few classes, and scales that are learned.",
    needs=(ScoresConfined, NormalisedAcross),
    examine=examine,
    bad=(bad,),
    good=(good, good_learned_scale),
    tunables={
        "share": Tunable(
            0.9,
            "share of the loss by chance above which it cannot fall",
            "chosen: at scores within ±1, a thousand classes leave 0.71 of it",
        )
    },
    about="loss",
    references=("https://arxiv.org/abs/2002.05709",),
)
