"""AD602 double-sigmoid: a loss that applies a sigmoid itself was given the outcome of one."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.losses import LossComputed, Shaping
from autograd_doctor.events.steps import BackwardRan
from autograd_doctor.findings import Finding
from autograd_doctor.rules import Rule, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.losses import SIGMOIDS, SOFTMAXES, SQUARED, WEIGHTED, elsewhere, faulty_losses, named

_LOSSES = ("binary_cross_entropy_with_logits", "multilabel_soft_margin_loss")
_OTHERS = ("binary_cross_entropy", *SQUARED, *WEIGHTED)
"""Those that a loss written by hand begins with, and those that take what a sigmoid gives."""


_INNER = SIGMOIDS | SOFTMAXES


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    for events in faulty_losses(trace, *_LOSSES, where=_is_double, blamed=lambda event: event.prediction.shaping):
        yield _finding(events)
    for events in faulty_losses(trace, *_OTHERS, where=_is_squashed_twice, blamed=_first_sigmoid):
        yield _finding(events)


def _is_double(event: LossComputed) -> bool:
    shaping = event.prediction.shaping
    return shaping is not None and shaping.operation in _INNER


def _is_squashed_twice(event: LossComputed) -> bool:
    return _first_sigmoid(event) is not None


def _first_sigmoid(event: LossComputed) -> Shaping | None:
    """What made the probabilities of which a sigmoid is taken right behind, or its logarithm."""
    shaping = event.prediction.shaping
    if shaping is not None and shaping.operation == "log":
        shaping = shaping.behind
    if shaping is None or shaping.operation not in SIGMOIDS | {"logsigmoid"}:
        return None
    return shaping.behind if shaping.behind is not None and shaping.behind.operation in _INNER else None


def _finding(events: list[LossComputed]) -> Finding:
    first = events[0]
    facts, in_loss = first.prediction.facts, _is_double(first) and first.operation in _LOSSES
    shaping = first.prediction.shaping if in_loss else _first_sigmoid(first)
    assert shaping is not None
    is_known = in_loss and facts.low is not None
    seen = f"{facts.low:.2g} to {facts.high:.2g}" if is_known else "values between 0 and 1"
    goes = "the sigmoid of that is taken once more on the way into the loss"
    if in_loss:
        goes = f"goes into `{first.operation}`, which takes the sigmoid of it"
    place = shaping.location or first.location
    return RULE.finding(
        f"{named(first.prediction, 'the prediction')} came out of `{shaping.operation}` and {goes}"
        f": {seen} become probabilities from 0.5 to 0.73",
        subject=facts.name,
        location=place,
        help="give the loss the scores as the last layer makes them"
        + (", or use `binary_cross_entropy` (`nn.BCELoss`)" if in_loss else "; take the sigmoid once"),
        evidence={
            **({"low": facts.low, "high": facts.high} if facts.low is not None and facts.high is not None else {}),
            "losses": len(events),
        },
        related=elsewhere(
            "this loss takes a sigmoid itself" if in_loss else "it goes into the loss here", first.location, place
        ),
        step_first=first.step + 1,
        step_count=len(events),
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, head = nn.Linear(8, 16), nn.Linear(16, 1)
    optimizer = torch.optim.Adam([*body.parameters(), *head.parameters()], lr=0.01)
    criterion = nn.BCEWithLogitsLoss()
    for _ in range(10):
        x = torch.randn(64, 8)
        labels = (x.sum(1) > 0).float()
        hidden = torch.relu(body(x))
        output = torch.sigmoid(head(hidden))  # <- AD602
        prediction = output.squeeze(1)
        loss = criterion(prediction, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_layer() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 5), nn.Sigmoid())
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(64, 8)
        tags = (x[:, :5] > 0).float()
        guess = model(x)  # <- AD602
        loss = nn.functional.binary_cross_entropy_with_logits(guess, tags, pos_weight=torch.full((5,), 2.0))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model, criterion = nn.Linear(8, 5), nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(64, 8)
        tags = (x[:, :5] > 0).float()
        scores = model(x)
        loss = criterion(scores, tags)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(float(((torch.sigmoid(scores) > 0.5) == (tags > 0.5)).float().mean()))


def good_gates_and_targets() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    gate, value, teacher = nn.Linear(8, 5), nn.Linear(8, 5), nn.Linear(8, 5)
    optimizer = torch.optim.Adam([*gate.parameters(), *value.parameters()], lr=0.01)
    for _ in range(10):
        x = torch.randn(64, 8)
        with torch.no_grad():
            soft = torch.sigmoid(teacher(x))
        scores = torch.sigmoid(gate(x)) * value(x)
        loss = nn.functional.binary_cross_entropy_with_logits(scores, soft)
        hard = (1 - torch.sigmoid(scores)).square() * nn.functional.softplus(-scores) * (soft > 0.5)
        optimizer.zero_grad()
        (loss + hard.mean()).backward()
        optimizer.step()


def good_probabilities() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 1), nn.Sigmoid())
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(64, 8)
        loss = nn.functional.binary_cross_entropy(model(x).squeeze(1), (x.sum(1) > 0).float())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD602",
    name="double-sigmoid",
    severity="error",
    title="a sigmoid of a sigmoid is what the loss is computed from",
    observes="The prediction of `binary_cross_entropy_with_logits` (`nn.BCEWithLogitsLoss`) or of "
    "`multilabel_soft_margin_loss` came out of a sigmoid or a softmax; or out of a sigmoid of one, where it goes into "
    "another loss, of torch or written by hand.",
    why="The second sigmoid turns values from 0 to 1 into probabilities from 0.5 to 0.73: none can be predicted to be "
    "less likely than not, and the loss stays near log 2.",
    fix="Let the model return scores, and take the sigmoid outside, where probabilities are wanted. Or keep it, and "
    "use `nn.BCELoss`.",
    fine="A sigmoid that makes the targets, gates other values, or is taken of the same scores beside the loss.",
    needs=(BackwardRan, LossComputed),
    examine=examine,
    bad=(bad, bad_layer),
    good=(good, good_gates_and_targets, good_probabilities),
    folds=("AD116", "AD407", "AD409", "AD410", "AD412"),
    about="loss",
)
