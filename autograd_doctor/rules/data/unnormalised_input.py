"""AD703: data of a scale far from 1 go straight into the first layer with weights."""

from __future__ import annotations

from collections.abc import Iterator
from math import hypot

from autograd_doctor.events.data import FirstLayerFed, InputScaleTurned
from autograd_doctor.events.steps import BackwardRan, OptimizerStepped
from autograd_doctor.findings import Finding, Related
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.wording import plural, shape


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    told = set()
    for event in trace.of(FirstLayerFed) if not _goes_by_curvature(trace) else ():
        if hypot(event.mean, event.deviation) > tunables["scale"] and event.location not in told:
            told.add(event.location)
            yield _finding(event)
    for turned in trace.of(InputScaleTurned):
        factor = turned.spread / turned.spread_before
        if max(factor, 1 / factor) >= tunables["factor"] and turned.location not in told:
            told.add(turned.location)
            yield _turned(turned, factor)


def _goes_by_curvature(trace: Trace) -> bool:
    """Whether the program takes its steps itself, and most of them by second derivatives of its loss, as Newton's
    method does: that solves for what each feature needs, whatever its scale."""
    steps = trace.steps
    known = trace.backwards
    curved = {
        event.step
        for event in trace.of(BackwardRan)
        for earlier in (known[each] for each in event.reused if each in known)
        if earlier.create_graph and not set(earlier.reached).isdisjoint(event.reached)
    }
    by_hand = all(step.optimizer is None for step in steps)
    return bool(steps) and by_hand and 2 * sum(step.step in curved for step in steps) > len(steps)


def _finding(event: FirstLayerFed) -> Finding:
    name = f"`{event.name}`" if event.name else "its input"
    places = {"the first layer that takes them in": event.applied_at, "the data were made here": event.made_at}
    return RULE.finding(
        f"{name} of shape {shape(event.shape)} goes into the first layer, `{event.operation}`, with values from "
        f"{event.low:.4g} to {event.high:.4g}: mean {event.mean:.4g}, standard deviation {event.deviation:.4g}",
        subject=event.name or event.operation,
        location=event.location,
        confidence="medium",
        help="bring the features to a mean near 0 and a deviation near 1 before training, with the numbers of the "
        "training data (divide pixels by 255, standardise columns), or let a normalisation layer come first",
        evidence={
            "mean": event.mean,
            "standard_deviation": event.deviation,
            "low": event.low,
            "high": event.high,
            "operation": event.operation,
        },
        related=tuple(Related(text, place) for text, place in places.items() if place not in (None, event.location)),
        step_first=event.step + 1,
    )


def _turned(event: InputScaleTurned, factor: float) -> Finding:
    name = f"`{event.name}`" if event.name else "its input"
    places = {"the first layer that takes them in": event.applied_at, "the data were made here": event.made_at}
    return RULE.finding(
        f"from step {event.since + 1} on, the samples of {name}, which goes into the first layer, `{event.operation}`, "
        f"differ {f'{factor:,.0f} times more' if factor > 1 else f'{1 / factor:,.0f} times less'} than in the "
        f"{plural(event.before, 'step')} that were looked at before: their standard deviation is {event.spread:.4g}, "
        f"after {event.spread_before:.4g}, and their mean {event.mean:.4g}, after {event.mean_before:.4g}",
        subject=event.name or event.operation,
        location=event.location,
        confidence="medium",
        help="scale the data once, before the first epoch, and keep what was scaled under a name of its own, so that "
        "nothing scales it again or takes it back",
        evidence={
            "standard_deviation": event.spread,
            "standard_deviation_before": event.spread_before,
            "mean": event.mean,
            "mean_before": event.mean_before,
            "operation": event.operation,
        },
        related=tuple(Related(text, place) for text, place in places.items() if place not in (None, event.location)),
        step_first=event.since + 1,
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    pixels = torch.randint(0, 256, (64, 3, 8, 8)).float()
    labels = (pixels.mean((1, 2, 3)) > 127).long()
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(288, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-5)
    for _ in range(10):
        chosen = torch.randint(0, 64, (16,))
        loss = nn.functional.cross_entropy(model(pixels[chosen]), labels[chosen])  # <- AD703
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_columns() -> None:
    import torch

    torch.manual_seed(0)
    income, age = 40_000 + 9_000 * torch.randn(128, 1), 20 + 50 * torch.rand(128, 1)
    people = torch.cat([income, age], dim=1)
    spent = (income / 10_000 + age / 20).sum(1, keepdim=True)
    weight = torch.zeros(2, 1, requires_grad=True)
    optimizer = torch.optim.Adam([weight], lr=1e-3)
    for _ in range(10):
        chosen = torch.randint(0, 128, (16,))
        predicted = people[chosen] @ weight  # <- AD703
        loss = (predicted - spent[chosen]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    pixels = torch.randint(0, 256, (64, 3, 8, 8)).float() / 255
    labels = (pixels.mean((1, 2, 3)) > 0.5).long()
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(288, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(10):
        chosen = torch.randint(0, 64, (16,))
        loss = nn.functional.cross_entropy(model(pixels[chosen]), labels[chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_normalisation_inside() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    pixels = torch.randint(0, 256, (64, 3, 8, 8)).float()
    labels = (pixels.mean((1, 2, 3)) > 127).long()
    first = nn.Sequential(nn.BatchNorm2d(3), nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(288, 2))
    second = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(288, 2))
    optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.01)
    for _ in range(10):
        chosen = torch.randint(0, 64, (16,))
        scores = first(pixels[chosen]) + second(pixels[chosen])
        loss = nn.functional.cross_entropy(scores, labels[chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_indices_and_one_large_feature() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    table, head = nn.Embedding(1000, 8), nn.Linear(18, 1)
    optimizer = torch.optim.Adam([*table.parameters(), *head.parameters()], lr=1e-3)
    for _ in range(10):
        tokens, features = torch.randint(0, 1000, (16,)), torch.randn(16, 10)
        features[:, 3] = 60 + features[:, 3]
        predicted = head(torch.cat([table(tokens), features], dim=1))
        loss = (predicted - features[:, :2].sum(1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD703",
    name="unnormalised-input",
    severity="warning",
    title="the first layer takes in values far from the scale of 1",
    observes="Mean, standard deviation and range of the data where they first meet weights, in two steps, and whether "
    "a normalisation takes the outcome over. And how far the samples of a batch lie apart there: of one scale at "
    "first, and of another, by a large factor, from one look to the next and since then.",
    why="Initial weights and common learning rates are made for features of a mean near 0 and a deviation near 1. With "
    "pixels to 255, prices or time stamps the first layer saturates or its gradients explode, and the rate that keeps "
    "it stable is too small for the rest.",
    fix="Standardise the features with the numbers of the training data, or put a normalisation layer first.",
    fine="Indices of embeddings, a normalisation directly before or after the first layer, single large features, and "
    "data whose scale changes little by little, or from batch to batch. Steps that the program takes itself by second "
    "derivatives, as in Newton's method.",
    folds=("AD408", "AD410", "AD606"),
    needs=(BackwardRan, FirstLayerFed, InputScaleTurned, OptimizerStepped),
    examine=examine,
    bad=(bad, bad_columns),
    good=(good, good_normalisation_inside, good_indices_and_one_large_feature),
    tunables={
        "scale": Tunable(
            50.0,
            "root of the mean square of an input, above which its scale is far from 1",
            "chosen: it is 147 for pixels up to 255, and 1 for standardised features",
        ),
        "factor": Tunable(
            30.0,
            "by how much the spread of samples must change, from one step that is looked at to the next",
            "chosen: pixels that are divided by 255 once more, or no longer, are far beyond; lessons that grow harder "
            "make steps of ten",
        ),
    },
    about="data",
)
