"""AD616 broadcast-comparison: a metric counted all pairs of predictions and labels."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.losses import PairsMeant, PairsReduced
from autograd_doctor.findings import Finding
from autograd_doctor.rules import Rule, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.pairs import described, evidence, origins, pairs_by_line
from autograd_doctor.wording import shape


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    meant = {event.location for event in trace.of(PairsReduced) if event.backward is not None}
    meant |= {event.location for event in trace.of(PairsMeant)}
    for events in pairs_by_line(trace, lambda event: event.backward is None and event.location not in meant):
        first = events[0]
        yield RULE.finding(
            f"`{_sign(first.operation)}` compares {described(first.left)} with {described(first.right)} as "
            f"{shape(first.shape)}, and all of these are summed up: each prediction with every label",
            subject=first.left.name or first.right.name,
            location=first.location,
            help="give both the same shape before they are compared: `.squeeze(…)` on the one with the dimension of "
            "size one",
            evidence=evidence(events),
            related=origins(first),
            step_first=first.step + 1,
            step_count=len(events),
        )


def _sign(operation: str) -> str:
    return {"__eq__": "==", "eq": "==", "__ne__": "!=", "ne": "!=", "sub": "-"}.get(operation, operation)


def bad_error() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model, criterion = nn.Linear(5, 1), nn.L1Loss()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    x, held_out = torch.randn(60, 5), torch.randn(30, 5)
    for _ in range(10):
        loss = criterion(model(x).squeeze(1), x.sum(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            error = criterion(model(held_out), held_out.sum(1))  # <- AD616
        print(float(error))


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(32, 5)
        labels = (x.sum(1) > 0).float()
        scores = model(x)
        loss = nn.functional.binary_cross_entropy_with_logits(scores.squeeze(1), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        correct = ((scores > 0).float() == labels).sum().item()  # <- AD616
        print(f"accuracy {correct / len(labels):.2f}")


def bad_validation() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(5, 3)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    x = torch.randn(60, 5)
    labels = x[:, :3].argmax(1, keepdim=True)
    for _ in range(10):
        loss = nn.functional.cross_entropy(model(x), labels.squeeze(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            guess = model(x).argmax(1)
            accuracy = torch.eq(guess, labels).float().mean()  # <- AD616
        print(float(accuracy))


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(32, 5)
        labels = (x.sum(1) > 0).float()
        scores = model(x).squeeze(1)
        loss = nn.functional.binary_cross_entropy_with_logits(scores, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        correct = ((scores > 0).float() == labels).sum().item()
        print(f"accuracy {correct / len(labels):.2f}")


def good_pairs_of_one_class() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder = nn.Linear(5, 4)
    optimizer = torch.optim.Adam(encoder.parameters(), lr=0.01)
    queue = torch.randint(3, (32,))
    for _ in range(10):
        x = torch.randn(32, 5)
        labels = x[:, :3].argmax(1)
        code = nn.functional.normalize(encoder(x), dim=1)
        same = (labels.unsqueeze(1) == labels).float()
        known = (labels.view(-1, 1) == queue).float()
        likeness = torch.log_softmax(code @ code.T / 0.5, dim=1)
        loss = -(same * likeness).sum() / same.sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(float(known.mean()))


RULE = Rule(
    code="AD616",
    name="broadcast-comparison",
    severity="warning",
    title="a metric compares every prediction with every label",
    observes="`==` or `!=` between two tensors of as many values and different numbers of dimensions, such as (N, 1) "
    "and (N,), of which a model made at least one, the N×N outcomes of which were summed or averaged; without "
    "gradients, also a difference or a loss function between what a model made and what it did not make.",
    why="The count can be N times too large, and the mean tells how often any prediction is like any label: the "
    "metric says nothing about the model, and may choose a checkpoint or stop the training all the same.",
    fix="Give both the same shape: `prediction.squeeze(1) == labels`.",
    fine="What no model made, as the numbers of samples that belong together. What one model says of two samples, each "
    "value with all of the other, as in the area under a ROC curve. Distances between two samples, which take the "
    "pairs of one with itself as well. Masks of pairs: a tensor compared with itself, or with a dimension that was "
    "put in on the spot, and comparisons that choose among as many other values, however many they are.",
    needs=(PairsMeant, PairsReduced),
    examine=examine,
    bad=(bad, bad_validation, bad_error),
    good=(good, good_pairs_of_one_class),
    about="loss",
    references=("https://docs.pytorch.org/docs/stable/notes/broadcasting.html",),
)
