"""AD702: the classes of training targets come one after the other, because nothing shuffles the data."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.data import TargetsSeen
from autograd_doctor.findings import Finding, Related
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.targets import latest_targets
from autograd_doctor.wording import plural


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    targets = latest_targets(trace)
    for event in targets:
        is_data = event.in_order and event.per_sample and not event.stateful
        is_clustered = event.clustered >= tunables["share"] and event.deviations >= tunables["deviations"]
        rehearsed = any(_rehearses(other, event, tunables["share"]) for other in targets)
        if is_data and is_clustered and event.steps >= tunables["steps"] and not rehearsed:
            yield _finding(event)


def _rehearses(other: TargetsSeen, event: TargetsSeen, share: float) -> bool:
    """Whether another term of the loss has the same classes mixed in most of the steps, as a memory has them."""
    is_beside = other.summed and event.summed and 2 * other.steps >= event.steps
    is_alike = other.operation == event.operation and other.logits == event.logits
    return is_beside and is_alike and other.class_count > 1 and other.clustered < share


def _finding(event: TargetsSeen) -> Finding:
    name = f"`{event.loader}`" if event.loader else "the `DataLoader`"
    order = f"{name} does not shuffle" if event.source == "drawn" else "slices are taken from the first row to the last"
    related = (Related("goes into the loss", event.location),) if event.location and event.chosen_at else ()
    return RULE.finding(
        f"the {event.class_count} classes of the targets come one after the other, and {order}: over "
        f"{plural(event.steps, 'step')} that were recorded, samples of one class were together in a batch "
        f"{event.clustered:.0%} as much as in sorted data, where 0% is chance",
        subject=event.loader or event.name or "targets",
        location=event.chosen_at or event.location,
        help="shuffle the training data: `shuffle=True` for the loader, or new indices from `torch.randperm` in each "
        "epoch",
        evidence={
            "steps": event.steps,
            "samples": event.elements,
            "classes": event.class_count,
            "clustered": round(event.clustered, 3),
            "standard_deviations_from_chance": round(event.deviations, 1),
        },
        related=related,
        step_first=event.since + 1,
        step_count=event.steps,
    )


def bad() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    y = torch.arange(4).repeat_interleave(60)
    x = torch.randn(240, 8) + y[:, None]
    loader = DataLoader(TensorDataset(x, y), batch_size=20)  # <- AD702
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(2):
        for inputs, targets in loader:
            loss = nn.functional.cross_entropy(model(inputs), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def bad_slices() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    y = torch.cat([torch.zeros(80), torch.ones(80)])
    x = torch.randn(160, 8) + y[:, None]
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(2):
        for begin in range(0, 160, 16):
            scores = model(x[begin : begin + 16]).squeeze(1)
            targets = y[begin : begin + 16]  # <- AD702
            loss = nn.functional.binary_cross_entropy_with_logits(scores, targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def good() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    y = torch.arange(4).repeat_interleave(60)
    x = torch.randn(240, 8) + y[:, None]
    loader = DataLoader(TensorDataset(x, y), batch_size=20, shuffle=True)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(2):
        for inputs, targets in loader:
            loss = nn.functional.cross_entropy(model(inputs), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def good_order_without_runs() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    y = torch.arange(4).repeat(60)
    x = torch.randn(240, 8) + y[:, None]
    loader = DataLoader(TensorDataset(x, y), batch_size=20)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(2):
        for inputs, targets in loader:
            loss = nn.functional.cross_entropy(model(inputs), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def good_episodes_sorted_by_class() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    y = torch.arange(4).repeat_interleave(5).repeat(12)
    x = torch.randn(240, 8) + y[:, None]
    loader = DataLoader(TensorDataset(x, y), batch_size=20)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(2):
        for inputs, targets in loader:
            loss = nn.functional.cross_entropy(model(inputs), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def good_steps_over_text_with_a_state() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    text = torch.arange(6).repeat_interleave(40)
    table, cell, out = nn.Embedding(6, 8), nn.GRU(8, 16), nn.Linear(16, 6)
    optimizer = torch.optim.Adam([*table.parameters(), *cell.parameters(), *out.parameters()], lr=0.01)
    for _ in range(2):
        state = torch.zeros(1, 16)
        for begin in range(0, 220, 20):
            hidden, state = cell(table(text[begin : begin + 20]), state.detach())
            loss = nn.functional.cross_entropy(out(hidden), text[begin + 1 : begin + 21])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


RULE = Rule(
    code="AD702",
    name="unshuffled-training-data",
    severity="warning",
    title="training data come sorted by class, in the same order in every epoch",
    observes="How many samples of one class come together in the batches of training, beside shuffled data and sorted "
    "ones, where a loader without shuffling, or slices that follow one another, give the order.",
    why="Each step teaches a class or two and forgets the others; batch statistics are those of one class. The loss "
    "jumps with each new class, and accuracy stays near that of the last one.",
    fix="Shuffle the training data in every epoch.",
    fine="Batches with all classes, in whatever order, time series and text that a state is carried through, streams, "
    "classes that come one after the other beside a memory of all that came before, and regression.",
    needs=(TargetsSeen,),
    examine=examine,
    bad=(bad, bad_slices),
    good=(
        good,
        good_order_without_runs,
        good_episodes_sorted_by_class,
        good_steps_over_text_with_a_state,
    ),
    tunables={
        "steps": Tunable(4, "fewest steps that were recorded", "chosen: fewer batches may be sorted by chance"),
        "share": Tunable(
            0.5,
            "how much samples of a class come together, from 0 for chance to 1 for sorted data",
            "chosen: half-way between the two",
        ),
        "deviations": Tunable(
            12.0,
            "standard deviations from chance",
            "arithmetic: even of two classes in four batches, where it strays most, chance gets so far less "
            "than once in a million times",
        ),
    },
    about="data",
)
