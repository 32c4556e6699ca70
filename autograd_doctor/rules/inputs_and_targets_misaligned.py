"""AD708: inputs and targets come in different orders, so that each sample gets the target of another."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events import PairsMisaligned
from autograd_doctor.findings import Finding, Related
from autograd_doctor.rules import Rule, Tunables
from autograd_doctor.trace import Trace


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    found = [event for event in trace.of(PairsMisaligned) if event.steps >= tunables["share"] * event.of]
    causes = {(event.input_at, event.target_at): event for event in reversed(found) if event.steps >= tunables["steps"]}
    yield from map(_finding, causes.values())


def _finding(event: PairsMisaligned) -> Finding:
    target = f"`{event.target}`" if event.target else "the targets"
    if event.target_at is None:
        what = f"the inputs were put into a random order, and {target} went into the loss in the order of the data"
    elif event.input_at is None:
        what = f"{target} was put into a random order, and the inputs went in in that of the data"
    else:
        what = f"the inputs and {target} were put into two different random orders"
    places = (
        ("takes the inputs", event.input_at),
        ("takes the targets", event.target_at),
        ("compared", event.location),
    )
    location = event.target_at or event.input_at or event.location
    return RULE.finding(
        f"{what}, in {event.steps} of {event.of} steps that were looked at closely; both are of {event.rows:,} rows",
        subject=event.target or "targets",
        location=location,
        confidence="medium",
        help="take inputs and targets by the same indices: `rows = torch.randperm(len(x)); x[rows], y[rows]`",
        evidence={"steps": event.steps, "of_steps": event.of, "rows": event.rows},
        related=tuple(Related(text, place) for text, place in places if place is not None and place != location),
        step_first=1,
        step_count=event.steps,
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(120, 8)
    y = x.sum(1, keepdim=True)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(12):
        inputs = x[torch.randperm(120)]  # <- AD708
        loss = nn.functional.mse_loss(model(inputs), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_two_draws() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(120, 8)
    y = x[:, :3].argmax(1)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(12):
        inputs = x[torch.randint(120, (16,))]
        targets = y[torch.randint(120, (16,))]  # <- AD708
        loss = nn.functional.cross_entropy(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(120, 8)
    y = x.sum(1, keepdim=True)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(12):
        rows = torch.randperm(120)
        loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_mixup() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(120, 8)
    y = x[:, :3].argmax(1)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(12):
        other = torch.randperm(120)
        scores = model(0.7 * x + 0.3 * x[other])
        loss = 0.7 * nn.functional.cross_entropy(scores, y) + 0.3 * nn.functional.cross_entropy(scores, y[other])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_labels_without_an_order() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    data, ones = torch.randn(120, 8), torch.ones(120, 1)
    critic = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(critic.parameters(), lr=0.05)
    for _ in range(12):
        real, fake = data[torch.randperm(120)], torch.randn(120, 8) + 1
        loss = nn.functional.binary_cross_entropy_with_logits(critic(real), ones)
        loss = loss + nn.functional.binary_cross_entropy_with_logits(critic(fake), 1 - ones)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_lagged_targets() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(120, 8)
    y = x.roll(1, 0).sum(1, keepdim=True)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(12):
        rows = torch.randint(119, (40,))
        loss = nn.functional.mse_loss(model(x[rows]), y[rows + 1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD708",
    name="inputs-and-targets-misaligned",
    severity="warning",
    title="inputs and targets come in different orders",
    observes="The indices by which inputs and targets were taken from tensors of as many rows, and which of them meet "
    "in a loss. Or slices meet of tensors, or arrays, one of which is in another order than in an earlier epoch, "
    "while the other is as it was.",
    why="Each sample is taught the target of another. The model learns the mean of all targets at best, and nothing "
    "crashes.",
    fix="Draw the indices once, and take both sides by them.",
    fine="Mixtures of samples, negatives of contrastive losses, targets that are so many rows further on, and slices.",
    needs=(PairsMisaligned,),
    examine=examine,
    bad=(bad, bad_two_draws),
    good=(good, good_mixup, good_labels_without_an_order, good_lagged_targets),
    tunables={"steps": 2, "share": 0.7},
    about="data",
)
