"""AD601 double-softmax: a loss that applies a softmax itself was given the outcome of one."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.losses import LossComputed, Shaping
from autograd_doctor.events.steps import BackwardRan
from autograd_doctor.findings import Finding
from autograd_doctor.rules import Rule, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.losses import (
    PICKED,
    SOFTMAXES,
    WEIGHTED,
    are_log_probabilities,
    are_probabilities,
    chain,
    classes,
    elsewhere,
    faulty_losses,
    named,
)


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    for events in faulty_losses(
        trace, "cross_entropy", "nll_loss", *WEIGHTED, *PICKED, where=_is_double, blamed=_first_softmax
    ):
        yield _double(events)
    for events in faulty_losses(trace, "cross_entropy", where=_is_idle):
        yield _idle(events)


def _is_double(event: LossComputed) -> bool:
    operations = chain(event.prediction.shaping)
    if classes(event) < 2 or not event.prediction.facts.requires_grad:
        return False
    if event.operation == "cross_entropy":
        return are_probabilities(event.prediction) or _is_behind_log_softmax(operations)
    return are_log_probabilities(event.prediction) and _is_behind_log_softmax(operations)


def _is_behind_log_softmax(operations: list[str]) -> bool:
    """Whether a softmax is right behind a log-softmax, or behind a softmax of which the logarithm was taken."""
    if operations[:1] == ["log"] and operations[1:2] != [] and operations[1] in SOFTMAXES:
        operations = operations[1:]
    elif operations[:1] != ["log_softmax"]:
        return False
    return operations[1:2] != [] and operations[1] in SOFTMAXES


def _is_idle(event: LossComputed) -> bool:
    return classes(event) > 1 and are_log_probabilities(event.prediction) and not _is_double(event)


def _double(events: list[LossComputed]) -> Finding:
    first = events[0]
    softmax = _first_softmax(first)
    place = softmax.location if softmax is not None else first.location
    made = f"came out of `{softmax.operation}`" if softmax is not None else "holds rows that sum to one"
    return RULE.finding(
        f"{named(first.prediction, 'the prediction')} {made}, and the softmax of that is taken once more on the way "
        f"into the loss: values {_range(first)} can give none of {classes(first)} classes a probability above "
        f"{_highest(classes(first)):.2g}",
        subject=first.prediction.facts.name,
        location=place,
        help="give the loss the scores as the last layer makes them; take the softmax only where probabilities are "
        "shown or drawn from",
        confidence="high" if softmax is not None else "medium",
        evidence={
            "low": first.prediction.facts.low or 0.0,
            "high": first.prediction.facts.high or 0.0,
            "classes": classes(first),
            "losses": len(events),
        },
        related=elsewhere("this loss takes the softmax again", first.location, place),
        step_first=first.step + 1,
        step_count=len(events),
    )


def _first_softmax(event: LossComputed) -> Shaping | None:
    """The softmax that is one too many: the one that others are taken of."""
    shaping, found = event.prediction.shaping, None
    while shaping is not None:
        found = shaping if shaping.operation in SOFTMAXES else found
        shaping = shaping.behind
    return found


def _range(event: LossComputed) -> str:
    facts = event.prediction.facts
    return "between 0 and 1" if facts.low is None or facts.low < 0 else f"{facts.low:.2g} to {facts.high:.2g}"


def _highest(count: int) -> float:
    """The largest probability that a softmax can give if its inputs are probabilities themselves."""
    return 2.718281828 / (2.718281828 + count - 1)


def _idle(events: list[LossComputed]) -> Finding:
    first = events[0]
    shaping = first.prediction.shaping
    place = shaping.location if shaping is not None and shaping.location is not None else first.location
    return RULE.finding(
        f"{named(first.prediction, 'the prediction')} are log-probabilities already: the log-softmax that "
        "`cross_entropy` takes of them changes nothing",
        subject=first.prediction.facts.name,
        location=place,
        help="give `cross_entropy` the scores, or these to `nll_loss`",
        severity="info",
        evidence={"losses": len(events)},
        related=elsewhere("this loss takes the log-softmax again", first.location, place),
        step_first=first.step + 1,
        step_count=len(events),
    )


def bad() -> None:
    import torch
    from torch import nn

    class Classifier(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.hidden, self.head = nn.Linear(8, 32), nn.Linear(32, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            scores: torch.Tensor = self.head(torch.relu(self.hidden(x)))
            return torch.softmax(scores, dim=1)  # <- AD601

    torch.manual_seed(0)
    model, criterion = Classifier(), nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(64, 8)
        loss = criterion(model(x), x[:, :4].argmax(1))
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
        probabilities = nn.functional.softmax(model(x), dim=-1)  # <- AD601
        scores = nn.functional.log_softmax(probabilities, dim=-1)
        loss = nn.functional.nll_loss(scores, x[:, :4].argmax(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_policy() -> None:
    import torch
    from torch import nn
    from torch.distributions import Categorical

    torch.manual_seed(0)
    policy = nn.Linear(6, 3)
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)
    for _ in range(10):
        state = torch.randn(40, 6)
        chances = torch.softmax(policy(state), dim=1)  # <- AD601
        choice = Categorical(logits=chances)
        action = choice.sample()
        reward = (action == state[:, :3].argmax(1)).float()
        loss = -(choice.log_prob(action) * (reward - reward.mean())).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_idle() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(8, 4)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(64, 8)
        scores = nn.functional.log_softmax(model(x), dim=-1)  # <- AD601
        loss = nn.functional.cross_entropy(scores, x[:, :4].argmax(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model, criterion = nn.Linear(8, 4), nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(64, 8)
        scores = model(x)
        confidence = scores.softmax(1).max(1).values.mean()
        loss = criterion(scores, x[:, :4].argmax(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(float(confidence))


def good_distillation() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    teacher, student = nn.Linear(8, 4), nn.Linear(8, 4)
    optimizer = torch.optim.Adam(student.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(64, 8)
        with torch.no_grad():
            soft = torch.softmax(teacher(x) / 2, dim=1)
        loss = nn.functional.cross_entropy(student(x) / 2, soft)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_gated_and_scaled() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    gate, experts = nn.Linear(8, 3), nn.Linear(8, 12)
    memory = nn.Parameter(torch.randn(4, 8))
    optimizer = torch.optim.Adam([*gate.parameters(), *experts.parameters(), memory], lr=0.01)
    for _ in range(10):
        x = torch.randn(64, 8)
        weights = torch.softmax(gate(x), dim=1)
        mixed = (weights.unsqueeze(2) * experts(x).reshape(-1, 3, 4)).sum(1)
        matched = 30 * torch.softmax(x @ memory.T, dim=1)
        labels = x[:, :4].argmax(1)
        loss = nn.functional.cross_entropy(mixed, labels) + nn.functional.cross_entropy(matched, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD601",
    name="double-softmax",
    severity="error",
    title="a softmax of a softmax is what the loss is computed from",
    observes="The prediction of `cross_entropy`, or of a log-softmax that goes into `nll_loss`, a loss written by hand "
    "or the log-probability of a distribution, came out of a softmax over the classes, or holds probabilities that sum "
    "to one in every row. Log-probabilities, of which a log-softmax changes nothing, are worth a word only.",
    why="Probabilities lie between 0 and 1, so that the second softmax can tell them hardly apart: the loss stays "
    "high whatever is learned, gradients are small, and a sure prediction is punished like an unsure one.",
    fix="Let the model return the scores of its last layer, and take the softmax outside, where probabilities are "
    "wanted. Or keep probabilities, and use `nll_loss` on their logarithm.",
    fine="A softmax that makes the targets, weighs values inside the model, or is scaled before the loss.",
    needs=(BackwardRan, LossComputed),
    examine=examine,
    bad=(bad, bad_before_log_softmax, bad_policy, bad_idle),
    good=(good, good_distillation, good_gated_and_scaled),
    folds=("AD116", "AD407", "AD409", "AD410", "AD412"),
    about="loss",
)
