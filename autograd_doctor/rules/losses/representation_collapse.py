"""AD638 representation-collapse: a loss that only brings outputs together has made them the same for all samples."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from statistics import mean

from autograd_doctor.events.losses import OutputsAligned
from autograd_doctor.findings import Finding, Location
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.trace import Trace

_NEWEST = 2
"""Steps in which they must be the same: one batch may hold samples that are alike."""


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    lines: dict[tuple[Location | None, int], list[OutputsAligned]] = defaultdict(list)
    for event in trace.of(OutputsAligned):
        lines[event.location, len(event.spreads)].append(event)
    for events in lines.values():
        first = events[0]
        newest = [event for event in events if event.step - first.step >= tunables["steps"]][-_NEWEST:]
        if newest and all(_collapsed(first, event, tunables) for event in newest):
            yield _finding(first, newest)


def _collapsed(first: OutputsAligned, now: OutputsAligned, tunables: Tunables) -> bool:
    free = tunables["turned"] if now.by_angle else tunables["fell"]
    before, after = max(first.spreads), max(now.spreads)
    return (
        now.alone
        and 0 < before >= after * (tunables["stopped"] if now.stopped else free)
        and not (now.by_angle and after > tunables["alike"])
        and all(one >= other * tunables["each"] for one, other in zip(first.spreads, now.spreads, strict=True))
        and max(first.apart) >= max(now.apart) * tunables["each"]
        and _differ_as_before(first.inputs, now.inputs)
    )


def _differ_as_before(before: list[float], now: list[float]) -> bool:
    """Whether there are inputs, and they differ from one another by half as much at least."""
    return bool(now) and len(now) == len(before) and all(b > a / 2 for a, b in zip(before, now, strict=True) if a > 0)


def _finding(first: OutputsAligned, newest: list[OutputsAligned]) -> Finding:
    before, now = max(first.spreads), mean(max(event.spreads) for event in newest)
    unit = " of their length" if first.by_angle else ""
    return RULE.finding(
        f"the loss only brings outputs together (`{first.comparison}`), and they are becoming the same for all "
        f"samples: those of a batch lay {before:.2g}{unit} from their mean in step {first.step + 1}, and {now:.2g} in "
        f"step {newest[-1].step + 1}, while the inputs differ as before",
        subject="loss",
        location=first.location,
        help="`detach()` the target of each comparison and let a predictor come before the other side, or add to the "
        "loss what keeps samples apart: negatives, or a term for variance",
        confidence="medium",
        evidence={"spread_first": float(f"{before:.3g}"), "spread_last": float(f"{now:.3g}")},
        step_first=first.step + 1,
        step_count=len(newest) + 1,
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 16))
    predictor = nn.Sequential(nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 16))
    optimizer = torch.optim.Adam([*encoder.parameters(), *predictor.parameters()], lr=0.01)
    for _ in range(80):
        sample = torch.randn(64, 12)
        one, other = (encoder(sample + 0.1 * torch.randn(64, 12)) for _ in range(2))
        loss = -nn.functional.cosine_similarity(predictor(one), other).mean()  # <- AD638
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_pairs_that_were_met() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    visitors, places = nn.Embedding(40, 8), nn.Embedding(20, 8)
    optimizer = torch.optim.SGD([*visitors.parameters(), *places.parameters()], lr=6.0)
    for _ in range(80):
        who = torch.randint(40, (64,))
        where = (who + torch.randint(4, (64,))) % 20
        distance = (visitors(who) - places(where)).square().sum(1)  # <- AD638
        optimizer.zero_grad()
        distance.mean().backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 16))
    predictor = nn.Sequential(nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 16))
    optimizer = torch.optim.Adam([*encoder.parameters(), *predictor.parameters()], lr=0.01)
    for _ in range(80):
        sample = torch.randn(64, 12)
        one, other = (encoder(sample + 0.1 * torch.randn(64, 12)) for _ in range(2))
        loss = -nn.functional.cosine_similarity(predictor(one), other.detach()).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_variance() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 16))
    optimizer = torch.optim.Adam(encoder.parameters(), lr=0.01)
    for _ in range(80):
        sample = torch.randn(64, 12)
        one, other = (encoder(sample + 0.1 * torch.randn(64, 12)) for _ in range(2))
        varied = sum((1 - z.std(0)).relu().mean() for z in (one, other))
        loss = 25 * nn.functional.mse_loss(one, other) + 25 * varied
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD638",
    name="representation-collapse",
    severity="warning",
    title="a model learns to return the same for all inputs",
    observes="A loss that consists of comparisons of outputs with one another, by distance or by cosine, all of which "
    "it brings together: no target, no negative and no other term is in it, and no other loss teaches the same "
    "parameters. How far the compared vectors lie from the mean of their batch, in the second step that was looked at "
    "closely and in the latest two, and the same of what went into the model.",
    why="Such a loss is least where all outputs are the same. It falls to its minimum, and what is learned tells no "
    "sample from another.",
    fix="Give each comparison a target that does not learn from it (`detach()`) and a predictor on the other side, or "
    "add negatives or a term for the variance of the outputs.",
    fine="Outputs that stay apart, as of SimSiam and BYOL with a predictor, or after a batch-norm or whitening; those "
    "that were as close to one another from the start; losses that hold a margin, scores against other samples, a "
    "variance or a covariance; a consistency beside a loss with targets, also one that goes backward by itself; "
    "a teacher that stays as it is; distances to a centre, to data, or to what data were added to, as a reward; and "
    "parameters that are compared as they are.",
    needs=(OutputsAligned,),
    examine=examine,
    bad=(bad, bad_pairs_that_were_met),
    good=(good, good_variance),
    tunables={
        "fell": Tunable(
            4,
            "how many times closer to their mean samples must lie than at first, where both sides have a graph",
            "measured: up to twice in SimSiam, before it recovers; 5 to 100 times where nothing holds them apart",
        ),
        "turned": Tunable(3, "the same of vectors of length 1", "measured: lengths that grow slow their turning down"),
        "alike": Tunable(
            0.25,
            "how far from their mean vectors of length 1 may lie to be alike",
            "arithmetic: the cosine of two samples is 0.94 on average",
        ),
        "stopped": Tunable(
            20, "the same where one side has none", "chosen: a predictor may bring back what looks lost"
        ),
        "each": Tunable(
            1.5,
            "how many times closer each side must be, and both to one another",
            "measured: what a predictor returns differs little from the start",
        ),
        "steps": Tunable(20, "fewest steps from the first look to the last", "chosen: rates may warm up"),
    },
    about="loss",
)
