"""AD611 invalid-probability: a loss of probabilities was given numbers that are none."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.errors import OperationFailed
from autograd_doctor.events.facts import TensorFacts
from autograd_doctor.events.losses import LossComputed
from autograd_doctor.events.run import ProgramRaised
from autograd_doctor.events.steps import BackwardRan
from autograd_doctor.events.tapes import TapeSealed
from autograd_doctor.findings import Finding
from autograd_doctor.operations import UPLOADS, VIEWS
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.tape import Op, behind, source_of
from autograd_doctor.trace import Trace
from autograd_doctor.views.crash import Crash, died_of
from autograd_doctor.views.losses import elsewhere, faulty_losses, named
from autograd_doctor.wording import shape, value_range

_KEEP = VIEWS | UPLOADS | {"contiguous", "detach", "double", "float"}
"""Operations that give the values of a target another form."""
_OPERANDS = 2
_LOSSES = ("binary_cross_entropy", "binary_cross_entropy_with_logits")


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    slack = tunables["slack"]
    for events in faulty_losses(trace, *_LOSSES, where=lambda event: _is_beyond(event, slack)):
        yield _of_target(events)
    for events in faulty_losses(trace, "cross_entropy", where=lambda event: _has_negative_weights(event, slack)):
        yield _of_target(events)
    rebuilt = {op.location for tape in trace.tapes for op in tape.named("cross_entropy") if _is_rebuilt(op)}
    for events in faulty_losses(trace, "cross_entropy", where=_has_several_labels):
        yield _several(events, is_rebuilt=events[0].location in rebuilt)
    crash = died_of(trace, "not_a_probability")
    refused = _refused_operand(crash) if crash is not None else None
    if crash is not None and refused is not None:
        yield _refused(crash, refused)


def _refused_operand(crash: Crash) -> TensorFacts | None:
    """The operand that a loss refused, if its finite values are to blame."""
    operands = crash.operation.operands[:2] if crash.operation is not None else []
    refused = next(iter(operands[_is_of_target(crash) :]), None)
    if refused is None or refused.low is None or refused.high is None:
        return None
    return refused if refused.low < 0 or refused.high > 1 else None


def _is_of_target(crash: Crash) -> bool:
    return "of target" in crash.said


def _is_beyond(event: LossComputed, slack: float) -> bool:
    low, high = event.target.facts.low, event.target.facts.high
    return event.whole and low is not None and high is not None and (low < -slack or high > 1 + slack)


def _has_negative_weights(event: LossComputed, slack: float) -> bool:
    """Whether targets by class are below 0, other than those of one class in each row, which is a policy's gradient,
    and those that sum up to 1: they may be right on average, of labels that are noisy (Patrini et al., 2017)."""
    target = event.target
    low, high = target.facts.low, target.facts.high
    if not event.whole or low is None or high is None or low >= -slack or len(target.sums) < 2:
        return False
    is_meant = _are_equal(target.sums, [low, high]) or _are_equal(target.sums, [1.0, 1.0])
    return target.facts.shape == event.prediction.facts.shape and not is_meant


def _has_several_labels(event: LossComputed) -> bool:
    """Whether classes share a row, or samples do where there is but one. Those of a batch may have several partners."""
    target, sizes = event.target, event.prediction.facts.shape
    are_pairs = len(sizes) == 2 and sizes[0] == sizes[1]
    return (
        target.facts.shape == sizes and target.binary and len(target.sums) == 2 and target.sums[1] > 1 and not are_pairs
    )


def _is_rebuilt(loss: Op) -> bool:
    """Whether the prediction was made of the target, as that of an autoencoder is."""
    given = loss.values
    if len(given) < _OPERANDS:
        return False
    target = source_of(given[1], _KEEP)
    return any(target in op.values for op in behind(given[:1], live=False))


def _are_equal(one: list[float], other: list[float]) -> bool:
    return all(abs(a - b) <= 1e-3 * max(1.0, abs(a)) for a, b in zip(one, other, strict=True))


def _of_target(events: list[LossComputed]) -> Finding:
    first = events[0]
    target = first.target
    return RULE.finding(
        f"`{first.operation}` takes targets from 0 to 1, and {named(target, 'its target')} holds values from "
        f"{value_range(target.facts)}: beyond that the loss has no smallest value, and falls below 0",
        subject=target.facts.name,
        location=first.location,
        help="give classes as numbers, or a probability to each: the softmax of a teacher's scores, 0 and 1 for labels"
        if first.operation == "cross_entropy"
        else "bring the targets to 0 and 1; for several classes use `cross_entropy`, for other numbers `mse_loss`",
        evidence={
            "target_low": target.facts.low or 0.0,
            "target_high": target.facts.high or 0.0,
            "losses": len(events),
        },
        related=elsewhere("the target comes from here", target.facts.made_at, first.location),
        step_first=first.step + 1,
        step_count=len(events),
    )


def _several(events: list[LossComputed], *, is_rebuilt: bool) -> Finding:
    first = events[0]
    target, sizes = first.target, first.prediction.facts.shape
    most = f"{target.sums[1]:.0f} ones"
    if len(sizes) == 1:
        effect = (
            f"takes scores of shape {shape(sizes)} for those of one sample and {sizes[0]} classes, and its target has "
            f"{most}: the samples of the batch compete with one another"
        )
        help = "for one score per sample use `binary_cross_entropy_with_logits`; for two classes let the model give two"
    else:
        effect = f"takes one distribution for each row, and {named(target, 'its target')} has rows with {most}"
        help = "for labels that hold together use `binary_cross_entropy_with_logits`, or divide each row by its sum"
    return RULE.finding(
        f"`{first.operation}` {effect}",
        subject=target.facts.name,
        location=first.location,
        severity="info" if is_rebuilt else "warning",
        confidence="medium",
        help=help,
        evidence={"scores": shape(sizes), "most_ones": target.sums[1], "losses": len(events)},
        notes=("the model was given the target: this may be meant, as the likelihood of draws from one distribution",)
        if is_rebuilt
        else (),
        related=elsewhere("the target comes from here", target.facts.made_at, first.location),
        step_first=first.step + 1,
        step_count=len(events),
    )


def _refused(crash: Crash, refused: TensorFacts) -> Finding:
    what = "targets" if _is_of_target(crash) else "predictions"
    name = f"`{refused.name}`" if refused.name else "what it got"
    help = (
        "bring the targets to 0 and 1; for several classes use `cross_entropy`, for other numbers `mse_loss`"
        if _is_of_target(crash)
        else "take the sigmoid of the scores first, or give them to `binary_cross_entropy_with_logits`"
    )
    return RULE.finding(
        f"`binary_cross_entropy` takes {what} from 0 to 1, and {name} holds values from {value_range(refused)}",
        subject=refused.name,
        location=crash.location,
        help=help,
        evidence={"low": refused.low or 0.0, "high": refused.high or 0.0},
        related=elsewhere("this made it", refused.made_at, crash.location),
        notes=(f"the error was: {crash.said}",),
        step_first=crash.step_first,
        step_count=1,
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model, criterion = nn.Linear(6, 1), nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(32, 6)
        label = x.sum(1, keepdim=True).sign()
        loss = criterion(model(x), label)  # <- AD611
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_scores() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model, criterion = nn.Linear(6, 1), nn.BCELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(32, 6)
        label = (x.sum(1, keepdim=True) > 0).float()
        loss = criterion(model(x), label)  # <- AD611
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_scores_of_a_teacher() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    teacher, student = (
        nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4)).requires_grad_(False),
        nn.Linear(6, 4),
    )
    optimizer = torch.optim.Adam(student.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(32, 6)
        with torch.no_grad():
            wanted = 3 * teacher(x)
        loss = nn.functional.cross_entropy(student(x), wanted)  # <- AD611
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model, criterion = nn.Linear(6, 1), nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(32, 6)
        label = (x.sum(1, keepdim=True) > 0).float()
        smooth = 0.9 * label + 0.05
        noisy = label * (0.8 + 0.4 * torch.rand(32, 1))
        loss = criterion(model(x), label) + criterion(model(x), smooth) + criterion(model(x), noisy)
        known = torch.rand(32, 1) < 0.8
        each = nn.functional.binary_cross_entropy_with_logits(model(x), label.where(known, -1), reduction="none")
        loss = loss + each[known].mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_policy() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Linear(4, 3)
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)
    for _ in range(10):
        states = torch.randn(32, 4)
        scores = policy(states)
        actions = torch.distributions.Categorical(logits=scores.detach()).sample()
        advantages = (actions == states[:, :3].argmax(1)).float() - 0.4
        wanted = nn.functional.one_hot(actions, 3) * advantages.unsqueeze(1)
        loss = nn.functional.cross_entropy(scores, wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_shared_rows() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(6, 4)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(32, 6)
        label = (x[:, :4] > 0).float()
        shared = label / label.sum(1, keepdim=True).clamp_min(1.0)
        loss = nn.functional.cross_entropy(model(x), shared)
        same = label.argmax(1)[:, None] == label.argmax(1)[None, :]
        likeness = model(x) @ model(x + 0.1).T
        loss = loss + 0.1 * nn.functional.cross_entropy(likeness, same.float())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD611",
    name="invalid-probability",
    severity="error",
    title="a loss of probabilities got numbers that are none",
    observes="Targets of `binary_cross_entropy` or `binary_cross_entropy_with_logits` lie outside of 0 to 1 in every "
    "call that was looked at, targets by class of `cross_entropy` lie below 0, or are zeros and several ones in a row, "
    "or `binary_cross_entropy` refused a prediction or a target beyond 0 and 1.",
    why="With such targets the loss is no longer bounded below: it falls without end while predictions are driven "
    "to the extremes. Labels of -1 and 1, classes 0 to 9 and pixels up to 255 do that without a word from torch.",
    fix="Map labels to 0 and 1 and divide pixels by 255. Take the sigmoid of scores, or use the loss with logits.",
    fine="Smoothed and noisy labels a little beyond 0 and 1, as for discriminators, and labels that stand for none and "
    "are weighted or left out before the mean. Advantages of the actions that were taken. Several ones in a row that "
    "the prediction was made of are an `info`: so is the likelihood of all that somebody chose, in an autoencoder.",
    needs=(BackwardRan, LossComputed, OperationFailed, ProgramRaised, TapeSealed),
    examine=examine,
    bad=(bad, bad_scores, bad_scores_of_a_teacher),
    good=(good, good_policy, good_shared_rows),
    tunables={
        "slack": Tunable(
            0.25,
            "how far beyond 0 and 1 a value must lie",
            "chosen: labels that are smoothed, mixed or noisy stay within",
        )
    },
    folds=("AD116", "AD401", "AD402", "AD405", "AD406", "AD409", "AD410", "AD412", "AD599", "AD609"),
    about="loss",
)
