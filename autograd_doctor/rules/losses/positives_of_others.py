"""AD627 positives-of-others: the positive of a contrastive loss is a view of another sample, or a negative as well."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from statistics import mean, stdev

from autograd_doctor.events.losses import PositiveRepeated, PositivesCompared
from autograd_doctor.findings import Finding, Location
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.step_cycle import related

_LIE = {
    "halves": "all first views and then all second ones, so that row i belongs to row i + n",
    "turns": "in turns, so that rows 2i and 2i + 1 belong together",
}
_SPLIT = {"halves": "z.chunk(2)", "turns": "z[0::2], z[1::2]"}
_INDEX = {"halves": "(torch.arange(2 * n) + n) % (2 * n)", "turns": "torch.arange(2 * n) ^ 1"}


_NEWEST = 3
"""Steps: encoders of two kinds begin with views that are less alike than any two, and bring them together."""


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    lines: dict[tuple[Location | None, str], list[PositivesCompared]] = defaultdict(list)
    for event in trace.of(PositivesCompared):
        lines[event.split_at or event.location, event.taken].append(event)
    for events in lines.values():
        rows = sum(event.rows for event in events)
        own, own_error = _mean([event.likeness for event in events], rows)
        other, error = _mean([event.other_likeness for event in events], rows)
        if events[0].split_at is not None:
            # One encoder may learn to bring together what is of two kinds, of which neighbours are alike from the start
            # and say the same twice: how far steps are apart then tells that it learns, and is no error.
            own_error = _least_error(rows / 2)
        beside = max(0.5, mean(event.neighbour_likeness for event in events))
        is_alike = other - beside > max(tunables["more"], tunables["sure"] * error)
        newest = mean(event.likeness for event in events[-_NEWEST:])
        is_chance = max(own - 0.5, newest - 0.5 - tunables["more"]) < tunables["none"] * own_error
        if len(events) >= tunables["steps"] and is_alike and is_chance:
            yield _finding(events, own, other)
    repeated: dict[Location | None, list[PositiveRepeated]] = defaultdict(list)
    for look in trace.of(PositiveRepeated):
        repeated[look.joined_at or look.location].append(look)
    for looks in repeated.values():
        is_repeated = mean(look.repeated for look in looks) >= tunables["repeated"]
        others = mean(look.by_chance for look in looks)
        by_construction = max(mean(look.fixed for look in looks), mean(look.level for look in looks))
        steps = len({look.step for look in looks})
        if steps >= tunables["steps"] and is_repeated and max(others / 0.1, by_construction / 0.5) <= 1:
            yield _among_negatives(looks, others)


def _among_negatives(looks: list[PositiveRepeated], others: float) -> Finding:
    look, share = looks[-1], mean(look.repeated for look in looks)
    return RULE.finding(
        f"the positive is among its own negatives: in {share:.0%} of the rows, the score of the positive stands "
        f"a second time among the {look.columns} of its row, up to rounding, as {others:.0%} of the others do",
        subject="positives",
        location=look.joined_at or look.location,
        severity="warning",
        confidence="medium",
        help="rule the positive out of the negatives: mask the scores of what is the positive itself with "
        '`float("-inf")`, or leave it out where negatives are drawn or mined; keys are put into a queue after the loss',
        evidence={"rows": look.rows, "columns": look.columns, "repeated": round(share, 3), "others": round(others, 3)},
        related=related(("the loss takes them for scores", look.location if look.joined_at else None)),
        step_first=looks[0].step + 1,
        step_count=len({look.step for look in looks}),
    )


def _mean(shares: list[float], rows: int) -> tuple[float, float]:
    """The mean and its standard error: as the steps tell, and no less than that of numbers between 0 and 1."""
    varied = stdev(shares) / math.sqrt(len(shares)) if len(shares) > 1 else 1.0
    return mean(shares), max(varied, _least_error(rows))


def _least_error(rows: float) -> float:
    """Each pair was counted from both of its ends, which are much the same."""
    return 1 / math.sqrt(12 * rows / 2)


def _finding(events: list[PositivesCompared], own: float, other_likeness: float) -> Finding:
    event = events[0]
    other = "turns" if event.taken == "halves" else "halves"
    together = "cat" if event.taken == "halves" else "stack"
    pairing = f"{event.rows} rows are split" if event.split_at else f"the targets pair the {event.rows} rows"
    return RULE.finding(
        f"{pairing} as if two views of {event.rows // 2} samples lay as "
        f"{_LIE[event.taken]}; but rows paired like this are no more alike than any two (the score is above "
        f"{own:.0%} of those with other rows), and those are that would belong together if the views lay as "
        f"{_LIE[other]} (above {other_likeness:.0%})",
        subject="views" if event.split_at else "targets",
        location=event.split_at or event.location,
        severity="warning" if event.split_at else None,
        confidence="medium" if event.split_at else "high",
        help=f"split them as the views lie: `{_SPLIT[other]}`, or put the views together the other way "
        f"(`torch.{together}`)"
        if event.split_at
        else f"number the positives as the views lie: `{_INDEX[other]}` for n samples, or put the views together the "
        f"other way (`torch.{together}`)",
        evidence={
            "rows": event.rows,
            "likeness_of_positives": round(own, 3),
            "likeness_of_others": round(other_likeness, 3),
        },
        related=related(("the loss pairs them row by row", event.location if event.split_at else None)),
        step_first=event.step + 1,
        step_count=len({event.step for event in events}),
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 16))
    optimizer = torch.optim.Adam(encoder.parameters(), lr=1e-3)
    for _ in range(8):
        sample = torch.randn(24, 12)
        views = torch.cat([sample + 0.2 * torch.randn(24, 12), sample + 0.2 * torch.randn(24, 12)])
        z = nn.functional.normalize(encoder(views), dim=1)
        scores = (z @ z.t() / 0.2).masked_fill(torch.eye(48, dtype=torch.bool), float("-inf"))
        loss = nn.functional.cross_entropy(scores, torch.arange(48) ^ 1)  # <- AD627
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_without_the_diagonal() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 16))
    optimizer = torch.optim.Adam(encoder.parameters(), lr=1e-3)
    others = ~torch.eye(48, dtype=torch.bool)
    for _ in range(8):
        sample = torch.randn(24, 12)
        views = torch.stack([sample + 0.2 * torch.randn(24, 12), sample + 0.2 * torch.randn(24, 12)], dim=1)
        z = nn.functional.normalize(encoder(views.flatten(0, 1)), dim=1)
        scores = (z @ z.t())[others].view(48, 47)
        positives = torch.cat([torch.arange(24) + 23, torch.arange(24)])
        loss = nn.functional.cross_entropy(scores / 0.2, positives)  # <- AD627
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_queue() -> None:
    import torch
    from torch.nn import functional

    torch.manual_seed(0)
    encoder = torch.nn.Linear(12, 16)
    queue = functional.normalize(torch.randn(256, 16), dim=1)
    optimizer = torch.optim.SGD(encoder.parameters(), lr=0.05)
    for step in range(8):
        sample = torch.randn(32, 12)
        query = functional.normalize(encoder(sample + 0.2 * torch.randn(32, 12)), dim=1)
        with torch.no_grad():
            key = functional.normalize(encoder(sample + 0.2 * torch.randn(32, 12)), dim=1)
            queue[32 * step : 32 * step + 32] = key
        scores = torch.cat([(query * key).sum(1, keepdim=True), query @ queue.clone().t()], dim=1)
        loss = functional.cross_entropy(scores / 0.2, torch.zeros(32, dtype=torch.long))  # <- AD627
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 16))
    optimizer = torch.optim.Adam(encoder.parameters(), lr=1e-3)
    itself = torch.eye(48, dtype=torch.bool)
    for _ in range(8):
        sample = torch.randn(24, 12)
        first, second = sample + 0.2 * torch.randn(24, 12), sample + 0.2 * torch.randn(24, 12)
        halves = nn.functional.normalize(encoder(torch.cat([first, second])), dim=1)
        turns = nn.functional.normalize(encoder(torch.stack([first, second], dim=1).flatten(0, 1)), dim=1)
        loss = torch.zeros(())
        for z, positives in ((halves, (torch.arange(48) + 24) % 48), (turns, torch.arange(48) ^ 1)):
            scores = (z @ z.t() / 0.2).masked_fill(itself, float("-inf"))
            loss = loss + nn.functional.cross_entropy(scores, positives)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_queue() -> None:
    import torch
    from torch.nn import functional

    torch.manual_seed(0)
    encoder = torch.nn.Linear(12, 16)
    queue = functional.normalize(torch.randn(256, 16), dim=1)
    optimizer = torch.optim.SGD(encoder.parameters(), lr=0.05)
    for step in range(8):
        sample = torch.randn(32, 12)
        query = functional.normalize(encoder(sample + 0.2 * torch.randn(32, 12)), dim=1)
        with torch.no_grad():
            key = functional.normalize(encoder(sample + 0.2 * torch.randn(32, 12)), dim=1)
        scores = torch.cat([(query * key).sum(1, keepdim=True), query @ queue.clone().t()], dim=1)
        loss = functional.cross_entropy(scores / 0.2, torch.zeros(32, dtype=torch.long))
        queue[32 * step : 32 * step + 32] = key
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD627",
    name="positives-of-others",
    severity="error",
    title="the positives of a contrastive loss are views of other samples, or negatives as well",
    observes="The scores of all rows of a batch against one another, and which row the targets tell each to find: one "
    "that is like it only by chance, while that one is alike which would be the other view if they lay the other way. "
    "The same of rows that are split into first and second views, of which each is to find the one of its number: a "
    "`warning`. "
    "And whether, in nearly every row of what a loss takes for scores, that of the positive stands a second time, "
    "while other scores do not.",
    why="Views of different samples are drawn together and those of one sample are pushed apart: what is learned is "
    "noise, at a loss that falls. A positive that is among its own negatives is drawn near and pushed away at once: a "
    "cross entropy cannot fall below log 2.",
    fix="Put the views together and number the positives in the same way. Mask or leave out the positive where its "
    "negatives are chosen, and put keys into a queue after the loss.",
    fine="Positives that are more alike than others, neighbours in a batch that are all alike, augmentations so strong "
    "that nothing is alike yet, and targets that are no pairs. Negatives that hit the positive now and then, or no "
    "more often than one another; scores that are all equal, rounded, clamped or masked; classes that are equal for "
    "every row; samples that stand twice in a batch; targets with several positives; rankings by the difference of a "
    "positive and a negative, where one that is its own negative has no gradient.",
    needs=(PositivesCompared, PositiveRepeated),
    examine=examine,
    bad=(bad, bad_without_the_diagonal, bad_queue),
    good=(good, good_queue),
    tunables={
        "more": Tunable(
            0.05,
            "how far above chance the rows of the other pairing must be alike, as a share",
            "measured: an untrained network keeps alike what is alike, and of views with much noise the score "
            "was above 58% of the others",
        ),
        "sure": Tunable(
            5,
            "standard errors that they must be above chance by",
            "arithmetic: less than once in a million times by chance",
        ),
        "none": Tunable(
            3,
            "standard errors above chance within which the pairing as given is none",
            "chosen: as usual for what is no more than chance",
        ),
        "repeated": Tunable(
            0.98,
            "the share of rows in which the score of the positive must stand twice",
            "chosen: draws that hit the positive by chance leave out more rows, of tiny vocabularies as well",
        ),
        "steps": Tunable(4, "fewest steps that were compared", "chosen: a deviation between steps wants a few"),
    },
    about="loss",
)
