"""AD615 squashed-logits: the scores of classes came out of an activation that keeps them small, or on one side of 0."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.losses import LossComputed, Shaping
from autograd_doctor.events.steps import BackwardRan
from autograd_doctor.findings import Finding
from autograd_doctor.rules import Rule, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.losses import CLAMPS, CONFINING, SIGMOIDS, WEIGHTED, classes, elsewhere, faulty_losses, named

_BINARY = "binary_cross_entropy_with_logits"
_ROOM = 4.0
"""Between the highest and the lowest score: with so much, the surest of two classes has 98 percent."""


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    losses = ("cross_entropy", "nll_loss", _BINARY, *WEIGHTED)
    for events in faulty_losses(trace, *losses, where=lambda event: _squashed(event) is not None, blamed=_squashed):
        yield _finding(events)


def _squashed(event: LossComputed) -> Shaping | None:
    """The activation that made the scores of which a loss, or the log-softmax before it, takes the softmax."""
    shaping = event.prediction.shaping
    if event.operation == _BINARY:
        is_squashing = shaping is not None and shaping.operation in CONFINING - SIGMOIDS and _is_narrow(shaping)
        return shaping if is_squashing else None
    if shaping is not None and shaping.operation == "log_softmax":
        shaping = shaping.behind
    elif event.operation != "cross_entropy":
        return None
    is_squashing = shaping is not None and shaping.operation in CONFINING and _is_narrow(shaping)
    return shaping if is_squashing and classes(event) > 1 else None


def _is_narrow(shaping: Shaping) -> bool:
    """Whether it leaves little room; what is cut off far out is so on purpose; cosines only for safety."""
    if shaping.low is None or shaping.low >= 0:
        return shaping.low is not None
    return shaping.high is not None and shaping.high - shaping.low <= _ROOM and shaping.operation not in CLAMPS


def _finding(events: list[LossComputed]) -> Finding:
    first = events[0]
    shaping = _squashed(first)
    assert shaping is not None
    place = shaping.location or first.location
    return RULE.finding(
        f"{named(first.prediction, 'the prediction')} came out of `{shaping.operation}` and goes into "
        f"`{first.operation}` as scores: {_meaning(first, shaping)}",
        subject=first.prediction.facts.name,
        location=place,
        help="give the loss the scores as the last layer makes them, without an activation",
        evidence={"activation": shaping.operation, "losses": len(events)},
        related=elsewhere("this loss takes any number for a score", first.location, place),
        step_first=first.step + 1,
        step_count=len(events),
    )


def _meaning(event: LossComputed, shaping: Shaping) -> str:
    low = shaping.low if shaping.low is not None else 0.0
    if event.operation == _BINARY and low >= 0:
        return f"none is below {low:g}, so that no probability is below 0.5"
    if shaping.high is None or shaping.high - low > _ROOM:
        return f"none is below {low:g}, and a class whose score is {low:g} gets no gradient there"
    return f"none is beyond {low:g} to {shaping.high:g}, so that no prediction can be sure"


def bad() -> None:
    import torch
    from torch import nn
    from torch.nn import functional

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = nn.Linear(8, 32), nn.Linear(32, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = functional.relu(self.first(x))
            return functional.relu(self.last(x))  # <- AD615

    torch.manual_seed(0)
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(64, 8)
        loss = functional.cross_entropy(model(x), x[:, :4].argmax(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_before_log_softmax() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(8, 4)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(64, 8)
        scores = torch.tanh(model(x))  # <- AD615
        loss = nn.functional.nll_loss(torch.log_softmax(scores, 1), x[:, :4].argmax(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_binary() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model, criterion = nn.Linear(8, 1), nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(64, 8)
        score = model(x).relu()  # <- AD615
        loss = criterion(score, (x.sum(1, keepdim=True) > 0).float())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(64, 8)
        loss = nn.functional.cross_entropy(model(x), x[:, :4].argmax(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_bounded_by_design() -> None:
    import torch
    from torch import nn
    from torch.nn import functional

    torch.manual_seed(0)
    embed, centers = nn.Linear(8, 6), nn.Parameter(torch.randn(4, 6))
    pointer = nn.Linear(8, 4)
    optimizer = torch.optim.Adam([*embed.parameters(), *pointer.parameters(), centers], lr=0.01)
    for _ in range(10):
        x = torch.randn(64, 8)
        labels = x[:, :4].argmax(1)
        cosine = functional.normalize(embed(x), dim=1) @ functional.normalize(centers, dim=1).T
        clipped = 10 * torch.tanh(pointer(x))
        loss = functional.cross_entropy(cosine / 0.1, labels) + functional.cross_entropy(clipped, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_pooled() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 4, 1), nn.ReLU(), nn.AdaptiveAvgPool2d(1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(16, 3, 8, 8)
        loss = nn.functional.cross_entropy(model(x).flatten(1), (x.mean((1, 2, 3)) > 0).long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD615",
    name="squashed-logits",
    severity="error",
    title="an activation squashes the scores that the loss takes",
    observes="The prediction of `cross_entropy`, or of a log-softmax that goes into `nll_loss`, came out of a sigmoid, "
    "tanh, ReLU, clamp at zero or the like; for `binary_cross_entropy_with_logits`, out of a ReLU or tanh.",
    why="These losses take scores of any size. Scores from 0 to 1 or from -1 to 1 cannot say that a class is sure; "
    "of scores that are never negative, those at 0 have no gradient, and whole classes stop learning.",
    fix="Leave out the activation behind the last layer.",
    fine="Bounded scores that are scaled: `10 * tanh(x)`, cosines over a temperature. Activations that are pooled or "
    "go through another layer.",
    needs=(BackwardRan, LossComputed),
    examine=examine,
    bad=(bad, bad_before_log_softmax, bad_binary),
    good=(good, good_bounded_by_design, good_pooled),
    folds=("AD116", "AD407", "AD408", "AD409", "AD410", "AD412"),
    about="loss",
)
