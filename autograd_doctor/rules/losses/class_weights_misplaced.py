"""AD626: weights that stand to how often classes come as those of other classes would."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from autograd_doctor.events.data import TargetsSeen
from autograd_doctor.findings import Finding, Related
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.targets import latest_targets

_SAMPLING_ERRORS = 2.0
"""Standard deviations by which the counts of what was seen may miss those of all data."""
_ROOM = 0.5
"""Of what classes differ by, on a logarithmic scale: where chance explains more, weights of any kind would fit."""


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    for event in latest_targets(trace):
        if event.operation == "binary_cross_entropy_with_logits" and event.weights:
            counts, weights = _of_two(event), [1.0, *event.weights]
        else:
            counts, weights = [event.classes.get(number, 0) for number in range(event.logits)], event.weights
        if len(counts) == 2 and all(map(_is_written, event.weights)):
            continue
        if len(counts) == len(weights) and min(counts, default=0) >= tunables["targets"] and min(weights) > 0:
            judgement = _judgement(counts, weights, tunables)
            if judgement:
                yield _finding(event, counts, judgement)


def _is_written(weight: float) -> bool:
    """Whether a person may have written it down: two such numbers fit the counts of two classes by accident."""
    return math.isclose(weight, float(f"{weight:.2g}"), rel_tol=1e-6)


def _of_two(event: TargetsSeen) -> list[int]:
    return [event.classes.get(label, 0) for label in (0, 1)] if set(event.classes) <= {0, 1} else []


def _judgement(counts: Sequence[int], weights: Sequence[float], tunables: Tunables) -> str:
    """How weights stand to counts, where that is not as they should; '' where it is, or nothing of the kind."""
    by_count = sorted(range(len(counts)), key=lambda number: counts[number])
    falling = sorted(weights, reverse=True)
    slack = [tunables["tolerance"] + _SAMPLING_ERRORS / math.sqrt(count) for count in counts]
    rarest, commonest = by_count[0], by_count[-1]
    is_uneven = slack[rarest] + slack[commonest] < _ROOM * math.log(counts[commonest] / counts[rarest])
    if not is_uneven or _is_steady([weight * count for weight, count in zip(weights, counts, strict=True)], slack):
        return ""
    if _is_steady([weight / count for weight, count in zip(weights, counts, strict=True)], slack):
        return "grow with how often a class comes"
    others = [weight * counts[number] for weight, number in zip(falling, by_count, strict=True)]
    shared = [slack[number] for number in by_count]
    return "are those of other classes" if len(counts) > 2 and _is_steady(others, shared) else ""


def _is_steady(numbers: Sequence[float], slack: Sequence[float]) -> bool:
    """Whether all are one number, each to within a factor of e to the power of its slack."""
    logarithms = [math.log(number) for number in numbers]
    low = max(value - room for value, room in zip(logarithms, slack, strict=True))
    high = min(value + room for value, room in zip(logarithms, slack, strict=True))
    return low <= high


def _finding(event: TargetsSeen, counts: Sequence[int], judgement: str) -> Finding:
    is_binary = event.operation not in ("cross_entropy", "nll_loss")
    weights = [f"{weight:.3g}" for weight in event.weights]
    total = sum(counts)
    if is_binary:
        seen = (
            f"`pos_weight` is {weights[0]}, the number of ones over that of zeros (of {total:,} targets, {counts[1]:,} "
        )
        seen += "are 1): the rarer of the two counts even less"
        change = f"give `pos_weight` the number of zeros over that of ones, here about {counts[0] / counts[1]:.3g}"
    else:
        shares = ", ".join(f"{count / total:.1%}" for count in counts[:10])
        seen = f"the weights of the classes ({', '.join(weights[:10])}) {judgement}: of the targets, these make up "
        seen += f"{shares}, in the same order"
        inverse = ", ".join(f"{total / (len(counts) * count):.3g}" for count in counts[:10])
        change = "give each class, by its number, a weight that falls with how often it comes: here about " + inverse
    elsewhere = event.location if event.weights_at else None
    return RULE.finding(
        seen,
        subject=event.name or "targets",
        location=event.weights_at or event.location,
        help=change,
        evidence={"weights": weights, "counts": [f"{label}: {count}" for label, count in enumerate(counts)]},
        related=(Related("the loss is computed here", elsewhere),) if elsewhere else (),
        step_first=event.since + 1,
        step_count=event.steps,
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(960, 8)
    y = (x[:, 0] > 0.2).long() + (x[:, 0] > 1.2).long()
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
    counts = torch.bincount(y)
    criterion = nn.CrossEntropyLoss(weight=counts / counts.sum())  # <- AD626
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(2):
        for rows in torch.randperm(960).split(64):
            loss = criterion(model(x[rows]), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def bad_counted_in_another_order() -> None:
    from collections import Counter

    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(960, 8)
    y = torch.tensor([2, 0, 1])[(x[:, 0] > 0.2).long() + (x[:, 0] > 1.2).long()]
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
    weights = torch.tensor([len(y) / count for _, count in Counter(sorted(y.tolist(), reverse=True)).items()])
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(2):
        for rows in torch.randperm(960).split(64):
            loss = nn.functional.cross_entropy(model(x[rows]), y[rows], weight=weights)  # <- AD626
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def bad_weight_of_ones() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(960, 8)
    y = (x[:, 0] > 0.9).float()
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    criterion = nn.BCEWithLogitsLoss(pos_weight=y.sum() / (1 - y).sum())  # <- AD626
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(2):
        for rows in torch.randperm(960).split(64):
            loss = criterion(model(x[rows])[:, 0], y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(960, 8)
    y = (x[:, 0] > 0.2).long() + (x[:, 0] > 1.2).long()
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
    counts = torch.bincount(y)
    criterion = nn.CrossEntropyLoss(weight=counts.sum() / counts)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(2):
        for rows in torch.randperm(960).split(64):
            loss = criterion(model(x[rows]), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def good_costs() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(960, 8)
    y = (x[:, 0] > 0.2).long() + (x[:, 0] > 1.2).long()
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
    costs = torch.tensor([1.0, 5.0, 2.0])
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(2):
        for rows in torch.randperm(960).split(64):
            loss = nn.functional.cross_entropy(model(x[rows]), y[rows], weight=costs)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


RULE = Rule(
    code="AD626",
    name="class-weights-misplaced",
    severity="warning",
    title="the weights of classes make up for another distribution than theirs",
    observes="The weights that a loss gives to classes (`weight`, `pos_weight`), next to how often each class came "
    "among its targets: they are proportional to that, or inversely so in another order of the classes.",
    why="Weights that are to help rare classes make them count even less, or help others in their place.",
    fix="Compute one weight for each class in the order of the classes' numbers: the number of all samples over that "
    "of the class (`torch.bincount` counts by number). `pos_weight` is the number of zeros over that of ones.",
    fine="Weights that say what a mistake costs, those that fall with the square root of the counts, data of which "
    "all classes come about as often (also by a sampler), and weights that change.",
    needs=(TargetsSeen,),
    examine=examine,
    bad=(bad, bad_counted_in_another_order, bad_weight_of_ones),
    good=(good, good_costs),
    tunables={
        "targets": Tunable(
            30,
            "fewest targets of each class",
            "arithmetic: of 30 that were seen, the count is off by a fifth, and weights are computed from all data",
        ),
        "tolerance": Tunable(
            0.05, "how far weights may be off beside that, on a logarithmic scale", "chosen: people round them"
        ),
    },
    about="loss",
)
