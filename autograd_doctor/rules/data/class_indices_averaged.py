"""AD725 class-indices-averaged: classes were averaged as numbers, and are the targets of a loss over classes."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.data import ClassesAveraged
from autograd_doctor.findings import Finding
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.wording import plural

_MIXES = ("lerp", "mixture")
"""Those that mix samples, the classes of which are mostly others."""
_MOST_CLASSES = 64
_AGREE = 1 / 3
"""Of the averages, the least share in which all are of one class."""
_REGIONS = 3
_ORDERED = 0.1
_FEWEST = 8


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    for event in trace.of(ClassesAveraged):
        if _are_classes(event, tunables["distance"]) and event.invented >= max(
            _FEWEST, tunables["share"] * event.differing
        ):
            yield _finding(event)


def _are_classes(event: ClassesAveraged, distance: float) -> bool:
    """Whether nothing tells of an order: classes are next to any others, and mostly to the same."""
    if event.classes > _MOST_CLASSES or event.distance < distance * event.by_chance:
        return False
    if event.rising is not None and not _ORDERED <= event.rising / event.differing <= 1 - _ORDERED:
        return False
    if event.operation in _MIXES:
        return True
    return event.regions >= _REGIONS and event.differing <= (1 - _AGREE) * event.places


def _finding(event: ClassesAveraged) -> Finding:
    return RULE.finding(
        f"the targets of a loss over classes are averages of class indices: {event.invented:,} of "
        f"{plural(event.differing, 'average')} of different classes are a class that was not among them, as "
        f"{event.became} of {event.one} and {event.other}",
        subject=event.operation,
        location=event.location,
        confidence="medium",
        help="mix the losses: `w * loss(out, y1) + (1 - w) * loss(out, y2)`"
        if event.operation in _MIXES
        else 'take a class that is there: `mode="nearest"`, or the most frequent one',
        evidence={"places": event.places, "differing": event.differing, "invented": event.invented},
        step_first=event.step + 1,
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    regions = torch.randint(0, 6, (24, 1, 4, 4))
    masks = regions.repeat_interleave(4, 2).repeat_interleave(4, 3)
    images = torch.eye(6)[masks[:, 0]].permute(0, 3, 1, 2) + 0.3 * torch.randn(24, 6, 16, 16)
    model = nn.Sequential(nn.Conv2d(6, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 6, 1), nn.Upsample(scale_factor=2))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(30):
        rows = torch.randint(24, (8,))
        large = nn.functional.interpolate(masks[rows].float(), scale_factor=2, mode="bilinear")  # <- AD725
        loss = nn.functional.cross_entropy(model(images[rows]), large[:, 0].round().long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    regions = torch.randint(0, 6, (24, 1, 4, 4))
    masks = regions.repeat_interleave(4, 2).repeat_interleave(4, 3)
    images = torch.eye(6)[masks[:, 0]].permute(0, 3, 1, 2) + 0.3 * torch.randn(24, 6, 16, 16)
    model = nn.Sequential(nn.Conv2d(6, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 6, 1), nn.Upsample(scale_factor=2))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(30):
        rows = torch.randint(24, (8,))
        large = nn.functional.interpolate(masks[rows].float(), scale_factor=2, mode="nearest")
        loss = nn.functional.cross_entropy(model(images[rows]), large[:, 0].long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD725",
    name="class-indices-averaged",
    severity="warning",
    title="targets of a loss over classes are averages of class indices",
    observes="Operations of torch that average whole numbers: `interpolate`, `grid_sample`, average pools, `mean`, "
    "convolutions whose weights sum up to 1, `lerp`, `w * y1 + (1 - w) * y2`, a sum over how many there are. Each "
    "class is averaged once more by itself, as a mask, which tells what went into the average at each place, and "
    "whether the result, as it was rounded or cut off, is one of these. And whether that is a target: of "
    "`cross_entropy` or `nll_loss`, as an index by which a log-probability is picked, or one-hot. In steps that are "
    "looked at closely.",
    why="The number of a class is a name. Halfway between class 1 and class 5 lies class 3, which is not there: the "
    "model is taught a rim of wrong classes around each region, or at each change.",
    fix='Resize and turn masks with `mode="nearest"`; take the most frequent class of several frames or votes; or '
    "average one-hot targets, and keep these as probabilities. Of mixed samples, mix the losses.",
    fine="Two classes, or classes that are next to one another in number, where nothing between is invented; "
    "averages of one-hot targets. Whole numbers that tell how much: more than 32 different ones, or a loss over "
    "more than 64 classes; numbers that lie beside others close to them more often than by chance, as depths and "
    "ratings do; that differ nearly everywhere, or all but zeros, as positions, intensities and counts do; of which "
    "one is always the larger, as of intervals; that the model takes in as well, or the average of which it does; "
    "that a loss compares by their size; averages that are scaled, compared or looked up by before. Not seen are the "
    "workers of a loader, tensors of more than 2^19 values, and what is resized outside of torch.",
    needs=(ClassesAveraged,),
    examine=examine,
    bad=(bad,),
    good=(good,),
    about="data",
    tunables={
        "share": Tunable(
            0.1,
            "least share of the averages of different classes that are another class",
            "chosen: of neighbours in number hardly any is",
        ),
        "distance": Tunable(
            0.85,
            "how far classes that are averaged must be apart, next to classes put together by chance",
            "chosen: neighbours in number are mostly neighbours in what they measure",
        ),
    },
    references=("https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.interpolate.html",),
)
