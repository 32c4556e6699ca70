"""AD612 loss-arguments-swapped: the target of a loss carries the graph, and its prediction holds the labels."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.losses import LossComputed
from autograd_doctor.events.steps import BackwardRan
from autograd_doctor.events.tapes import TapeSealed
from autograd_doctor.findings import Finding, Location
from autograd_doctor.operations import REARRANGEMENTS
from autograd_doctor.rules import Rule, Tunables
from autograd_doctor.tape import Tape, Value
from autograd_doctor.trace import Trace
from autograd_doctor.views.losses import (
    are_exchanged,
    are_log_probabilities,
    are_probabilities,
    elsewhere,
    faulty_losses,
    named,
)

_BINARY = ("binary_cross_entropy", "binary_cross_entropy_with_logits", "multilabel_soft_margin_loss")
_SHAPED = REARRANGEMENTS | {"clamp", "sigmoid", "softmax"}


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    lines = [set(_with_data_first(tape)) for tape in trace.tapes]
    data_first = set[Location | None]().union(*lines)

    def are_swapped(event: LossComputed) -> bool:
        return _are_swapped(event) or (event.location in data_first and _are_soft_labels(event))

    for events in faulty_losses(trace, *_BINARY, "cross_entropy", "kl_div", "poisson_nll_loss", where=are_swapped):
        yield _finding(events)


def _are_swapped(event: LossComputed) -> bool:
    """Whether what cannot be a prediction of this loss has no graph, and what is taken for the target has one."""
    prediction = event.prediction
    if are_exchanged(event):
        return True
    if not _only_target_learns(event):
        return False
    if event.operation in _BINARY:
        return prediction.binary
    if event.operation == "cross_entropy":
        return are_probabilities(prediction)
    if event.operation == "kl_div":
        return are_probabilities(prediction) and not event.log_target
    return not are_log_probabilities(prediction) and _are_counts(event)


def _only_target_learns(event: LossComputed) -> bool:
    return event.target.facts.requires_grad and not event.prediction.facts.requires_grad


def _with_data_first(tape: Tape) -> Iterator[Location | None]:
    """Lines at which data stand in the place of the prediction, and what is in that of the target enters nothing else.

    An entropy beside it, or the same loss the other way round, would give it a lowest value between the ends.
    """
    for op in tape.named(*_BINARY):
        prediction, target = op.values[:2]
        if not (prediction.learns or prediction.values) and target.learns and _enters_nothing_else(target):
            yield op.location


def _enters_nothing_else(value: Value) -> bool:
    """Nor does what it was before it was brought between 0 and 1."""
    while len(value.uses) == 1 and value.by is not None and value.by.name in _SHAPED and value.by.values:
        value = value.by.values[0]
    return len(value.uses) == 1


def _are_soft_labels(event: LossComputed) -> bool:
    """Whether the place of the prediction holds probabilities that are not all one, as a prior may be."""
    low, high = event.prediction.facts.low, event.prediction.facts.high
    return _only_target_learns(event) and low is not None and high is not None and 0 <= low < high <= 1


def _are_counts(event: LossComputed) -> bool:
    low, high = event.prediction.facts.low, event.prediction.facts.high
    return low is not None and high is not None and low >= 0 and low == int(low) and high == int(high)


def _finding(events: list[LossComputed]) -> Finding:
    first = events[0]
    given, wanted = first.prediction, first.target
    made = "is what the model made"
    if given.facts.requires_grad:
        made = "holds log-probabilities"
    has_none = "" if given.facts.requires_grad else "has no gradient and "
    return RULE.finding(
        f"`{first.operation}` takes its first argument for the prediction, and {named(given, 'that')} {has_none}holds "
        f"{_kind(first)}; {named(wanted, 'its second argument')}, taken for the target, {made}",
        subject=given.facts.name or wanted.facts.name,
        location=first.location,
        help=f"exchange the two: `{first.operation}(prediction, target)`",
        evidence={
            "first_requires_grad": str(given.facts.requires_grad),
            "second_requires_grad": str(wanted.facts.requires_grad),
            "losses": len(events),
        },
        related=elsewhere("the prediction is made here", wanted.facts.made_at, first.location),
        step_first=first.step + 1,
        step_count=len(events),
    )


def _kind(event: LossComputed) -> str:
    if event.prediction.binary:
        return "zeros and ones"
    if are_probabilities(event.prediction):
        return "probabilities that sum to one"
    facts = event.prediction.facts
    is_range = event.operation in _BINARY or event.operation == "kl_div"
    return f"data from {facts.low:.3g} to {facts.high:.3g}" if is_range else "whole numbers"


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model, criterion = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 1), nn.Sigmoid()), nn.BCELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(32, 6)
        label = (x.sum(1, keepdim=True) > 0).float()
        loss = criterion(label, model(x))  # <- AD612
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_one_hot() -> None:
    import torch
    from torch import nn
    from torch.nn import functional

    torch.manual_seed(0)
    model = nn.Linear(6, 3)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(32, 6)
        wanted = functional.one_hot(x[:, :3].argmax(1), 3).float()
        loss = functional.cross_entropy(wanted, model(x))  # <- AD612
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_divergence() -> None:
    import torch
    from torch import nn
    from torch.nn import functional

    torch.manual_seed(0)
    teacher, student = nn.Linear(6, 3), nn.Linear(6, 3)
    optimizer = torch.optim.Adam(student.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(32, 6)
        with torch.no_grad():
            soft = functional.softmax(teacher(x), dim=1)
        loss = functional.kl_div(soft, functional.softmax(student(x), dim=1), reduction="batchmean")  # <- AD612
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model, criterion = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 1), nn.Sigmoid()), nn.BCELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(32, 6)
        loss = criterion(model(x), (x.sum(1, keepdim=True) > 0).float())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_either_way() -> None:
    import torch
    from torch import nn
    from torch.nn import functional

    torch.manual_seed(0)
    first, second, teacher = nn.Linear(6, 3), nn.Linear(6, 3), nn.Linear(6, 3)
    optimizer = torch.optim.Adam([*first.parameters(), *second.parameters()], lr=0.01)
    for _ in range(10):
        x = torch.randn(32, 6)
        ours, theirs = functional.log_softmax(first(x), dim=1), functional.log_softmax(second(x), dim=1)
        with torch.no_grad():
            known = functional.log_softmax(teacher(x), dim=1)
        mutual = functional.kl_div(ours, theirs.exp(), reduction="batchmean") + functional.kl_div(
            theirs, ours.exp(), reduction="batchmean"
        )
        backwards = functional.kl_div(known, ours, log_target=True, reduction="batchmean")
        loss = (
            mutual
            + backwards
            + functional.mse_loss(x[:, :3], first(x))
            + functional.kl_div(known, theirs.exp(), reduction="batchmean")
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD612",
    name="loss-arguments-swapped",
    severity="error",
    title="prediction and target of a loss are exchanged",
    observes="The arguments of a loss that is not symmetric. The one taken for the target has a gradient to what "
    "is trained, and the one taken for the prediction has none. That one holds what only targets hold: zeros and "
    "ones, counts, or probabilities where the loss takes scores or log-probabilities. Or it is data between 0 and 1, "
    "and nothing else is computed from the other one, so that the loss falls with it in a straight line.",
    why="The loss is another function then: its logarithm, or softmax, is taken of the labels, and the prediction only "
    "enters as a weight, so that it is pushed to an end and never to the labels.",
    fix="The prediction comes first, the target second.",
    fine="Symmetric losses such as `mse_loss`, gradients through both sides, divergences the other way round between "
    "what are log-probabilities and probabilities indeed, a cross entropy to data beside an entropy or beside the same "
    "loss the right way round, and a constant prior.",
    needs=(BackwardRan, LossComputed, TapeSealed),
    examine=examine,
    bad=(bad, bad_one_hot, bad_divergence),
    good=(good, good_either_way),
    folds=("AD116", "AD401", "AD402", "AD405", "AD406", "AD409", "AD410", "AD412", "AD599", "AD603", "AD609", "AD611"),
    about="loss",
)
