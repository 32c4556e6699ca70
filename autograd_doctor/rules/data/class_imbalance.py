"""AD713: targets of one class make up nearly everything, and no class counts more than another."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.data import TargetsSeen
from autograd_doctor.findings import Finding
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.targets import latest_targets
from autograd_doctor.wording import plural


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    for event in latest_targets(trace):
        seen = event.elements
        if event.weighted or not ((event.per_sample and event.source) or _is_map(event)):
            continue
        if event.class_count > 1 and seen >= tunables["targets"] and event.steps >= tunables["steps"]:
            label, count = next(iter(event.classes.items()))
            share = tunables["share" if event.per_sample else "share_of_maps"]
            if count >= share * sum(event.classes.values()):
                yield _finding(event, label, count)


def _is_map(event: TargetsSeen) -> bool:
    """Whether each sample has many targets, each of one class, and nothing else was added to their loss."""
    return not event.per_sample and event.logits > 1 and not event.summed


def _finding(event: TargetsSeen, label: int, count: int) -> Finding:
    share = count / sum(event.classes.values())
    return RULE.finding(
        f"{share:.1%} of the {plural(event.elements, 'target')} that were seen are of class {label}, and "
        f"`{event.operation}` gives all classes the same weight: who always says {label} is right {share:.1%} of the "
        "time",
        subject=event.name or "targets",
        location=event.location,
        help="look at the other classes by themselves (recall, average precision); weigh them (`weight`, `pos_weight`) "
        "or draw them more often (`WeightedRandomSampler`)",
        evidence={
            "share": round(share, 4),
            "class": label,
            "targets": event.elements,
            "classes": event.class_count,
            "counts": [f"{each}: {times}" for each, times in event.classes.items()],
        },
        step_first=event.since + 1,
        step_count=event.steps,
    )


def bad() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(640, 8)
    y = (x[:, 0] > 2.2).long()
    loader = DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(2):
        for inputs, targets in loader:
            loss = nn.functional.cross_entropy(model(inputs), targets)  # <- AD713
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def good() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(640, 8)
    y = (x[:, 0] > 2.2).long()
    loader = DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    criterion = nn.CrossEntropyLoss(weight=torch.tensor([0.02, 0.98]))
    for _ in range(2):
        for inputs, targets in loader:
            loss = criterion(model(inputs), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def good_many_rare_labels() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    x = torch.randn(640, 8)
    y = (torch.rand(640, 40) < 0.03).float()
    loader = DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 40))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(2):
        for inputs, targets in loader:
            loss = nn.functional.binary_cross_entropy_with_logits(model(inputs), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


RULE = Rule(
    code="AD713",
    name="class-imbalance",
    severity="info",
    title="nearly all targets are of one class",
    observes="How often each class came among the targets of a loss, one for each sample or for each place of a map, "
    "without weights.",
    why="A model that has learned nothing but the most frequent class looks excellent by accuracy and by loss.",
    fix="Judge by a measure that the rare classes count in, and weigh or draw them more.",
    fine="Weighted losses, samplers that balance classes, many rare labels at once, text, and maps of classes with a "
    "rare one that is not next to nothing or that a second term of the loss looks after.",
    needs=(TargetsSeen,),
    examine=examine,
    bad=(bad,),
    good=(good, good_many_rare_labels),
    tunables={
        "share": Tunable(
            0.95,
            "smallest share of the targets that one class has",
            "chosen: with less of a majority, accuracy still tells something",
        ),
        "share_of_maps": Tunable(
            0.995,
            "the same, where each sample has a map of targets",
            "chosen: half a percent of a picture is less than its noise moves a loss by",
        ),
        "targets": Tunable(200, "fewest targets that were seen", "chosen: fewer could be so by chance"),
        "steps": Tunable(4, "fewest steps that were recorded", "chosen: fewer could be so by chance"),
    },
    about="data",
)
