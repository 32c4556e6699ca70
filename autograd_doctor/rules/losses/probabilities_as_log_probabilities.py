"""AD603: a loss received something else where it takes logarithms, of probabilities or of rates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from autograd_doctor.events.losses import LossComputed, LossOperand
from autograd_doctor.events.steps import BackwardRan
from autograd_doctor.events.tapes import TapeSealed
from autograd_doctor.findings import Finding, Location
from autograd_doctor.operations import ADDING, MOVES
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.tape import Op, Tape, source_of
from autograd_doctor.trace import Trace
from autograd_doctor.views.losses import (
    LAYERS,
    SIGMOIDS,
    SOFTMAXES,
    SQUASHING,
    are_exchanged,
    are_log_probabilities,
    are_probabilities,
    classes,
    elsewhere,
    faulty_losses,
    named,
)
from autograd_doctor.views.tapes import Seen, seen_in_steps

_POSITIVE = {"exp", "softplus"}
"""What gives a rate for any score."""
_SAME_FOR_SHIFTED = SOFTMAXES | {"cross_entropy", "log_softmax"}


@dataclass(frozen=True)
class _Mistake:
    """One thing that can be wrong: of which loss, which operand, what it is instead, and what to do."""

    holds: Callable[[LossComputed], bool]
    operand: Callable[[LossComputed], LossOperand]
    what: str
    instead: str
    help: str


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    for mistake in _MISTAKES:
        for events in faulty_losses(trace, "nll_loss", "ctc_loss", "kl_div", where=mistake.holds):
            if are_exchanged(events[0]):
                continue  # each is what the other one is taken for
            if mistake.holds is _has_scores and _are_normalised_otherwise(trace, events[0]):
                continue
            if mistake.holds is not _has_probabilities or not _is_subtracted(trace, events[0]):
                yield _finding(mistake, events)
    yield from map(_of_rates, seen_in_steps(trace, _rates, tunables["steps"]))


def _rates(tape: Tape) -> Iterator[tuple[Location | None, Op]]:
    """What makes positive numbers of any scores, and hands them to a loss that takes the logarithms of rates."""
    for loss in tape.named("poisson_nll_loss"):
        made_by = source_of(loss.values[0], MOVES).by
        if made_by is not None and made_by.name in _POSITIVE and loss.values[0].learns and _takes_logarithms(loss):
            yield loss.location, made_by


def _takes_logarithms(loss: Op) -> bool:
    """As `poisson_nll_loss` does unless it is told otherwise."""
    given = [each for each in loss.operands if type(each) is bool]
    return bool(loss.options.get("log_input", given[0] if given else True))


def _of_rates(seen: Seen[Op]) -> Finding:
    made_by = seen.found
    return RULE.finding(
        f"`poisson_nll_loss` takes the logarithms of rates, and what it got was made by `{made_by.called}`, which "
        "makes rates: the exponential of them, by which the loss goes, is never below 1",
        subject="rates",
        location=seen.location,
        severity="warning",
        confidence="medium",
        help="pass `log_input=False`, or give it the scores from which these numbers are made",
        evidence={"steps": seen.steps},
        related=elsewhere(f"`{made_by.called}` made positive numbers here", made_by.location, seen.location),
        step_first=seen.step + 1,
        step_count=seen.steps,
    )


def _are_normalised_otherwise(trace: Trace, event: LossComputed) -> bool:
    """Whether another function of the same scores is behind the backward, as their integral or a conjugate is."""
    return any(map(_has_another_beside, _losses(trace, event)))


def _losses(trace: Trace, event: LossComputed) -> Iterator[Op]:
    return (op for tape in trace.tapes for op in tape.named(event.operation) if op.location == event.location)


def _is_subtracted(trace: Trace, event: LossComputed) -> bool:
    """Whether a number is added to what `nll_loss` makes of probabilities, which is minus that of the target: how much
    it lacks to 1, the mean absolute error."""
    uses = (use for loss in _losses(trace, event) for use in loss.output.uses)
    return event.operation == "nll_loss" and any(use.name in ADDING and any(use.numbers) for use in uses)


def _has_another_beside(loss: Op) -> bool:
    """A softmax of the scores is none: it stays the same however high they all are."""
    pending = [source_of(loss.values[0], MOVES)]
    while pending:
        for use in pending.pop().uses:
            learned = [output for output in use.outputs if output.learns]
            if use.name in MOVES:
                pending += learned
            elif learned and use.name != loss.name and use.name not in _SAME_FOR_SHIFTED:
                return True
    return False


def _prediction(event: LossComputed) -> LossOperand:
    return event.prediction


def _target(event: LossComputed) -> LossOperand:
    return event.target


def _has_probabilities(event: LossComputed) -> bool:
    """By their sums, or by what made them; a softmax over another dimension is another fault."""
    shaping, facts = event.prediction.shaping, event.prediction.facts
    if classes(event) < 2 or not facts.requires_grad:
        return False
    by_sigmoid = shaping is not None and shaping.operation in SIGMOIDS
    by_softmax = event.operation == "kl_div" and shaping is not None and shaping.operation in SOFTMAXES
    return are_probabilities(event.prediction) or by_sigmoid or by_softmax


def _has_scores(event: LossComputed) -> bool:
    """Whether a layer, or an activation that gives no probabilities, made what is no log-probability."""
    shaping, facts = event.prediction.shaping, event.prediction.facts
    if shaping is None or facts.high is None or not event.prediction.log_sums or classes(event) < 2:
        return False
    if event.normalised_elsewhere or not facts.requires_grad or are_log_probabilities(event.prediction):
        return False
    return shaping.operation in LAYERS | (SQUASHING - SIGMOIDS) and (event.operation != "kl_div" or facts.high > 0)


def _has_probable_targets(event: LossComputed) -> bool:
    return event.log_target and classes(event) > 1 and are_probabilities(event.target)


def _has_logarithmic_targets(event: LossComputed) -> bool:
    high = event.target.facts.high
    is_wrong = event.operation == "kl_div" and not event.log_target and classes(event) > 1 and high is not None
    return is_wrong and high is not None and high <= 0 and are_log_probabilities(event.target)


_LOGARITHM = "take `log_softmax` of the scores, not `softmax`, before this loss"
_MISTAKES = (
    _Mistake(_has_probabilities, _prediction, "probabilities", "log-probabilities", _LOGARITHM),
    _Mistake(
        _has_scores,
        _prediction,
        "scores",
        "log-probabilities",
        "take `log_softmax` of the scores before this loss; for classes, `cross_entropy` does both",
    ),
    _Mistake(
        _has_probable_targets,
        _target,
        "probabilities",
        "log-probabilities, with `log_target=True`",
        "leave out `log_target=True`, or take the logarithm of the target",
    ),
    _Mistake(
        _has_logarithmic_targets,
        _target,
        "log-probabilities",
        "probabilities, without `log_target=True`",
        "pass `log_target=True`, or give the target as probabilities",
    ),
)


def _finding(mistake: _Mistake, events: list[LossComputed]) -> Finding:
    first = events[0]
    operand = mistake.operand(first)
    facts, shaping = operand.facts, operand.shaping
    made = f", made by `{shaping.operation}`," if shaping is not None else ""
    is_to_blame = (
        shaping is not None and mistake.holds is _has_probabilities and shaping.operation in SIGMOIDS | SOFTMAXES
    )
    place = (shaping.location if is_to_blame and shaping is not None else None) or first.location
    seen = f"its values range from {facts.low:.3g} to {facts.high:.3g}" if facts.low is not None else ""
    return RULE.finding(
        f"`{first.operation}` takes {mistake.instead}, and {named(operand, 'what it got')}{made} holds {mistake.what}: "
        f"{seen}{_sums(operand)}",
        subject=facts.name,
        location=place,
        help=mistake.help,
        evidence={
            **({"low": facts.low, "high": facts.high} if facts.low is not None and facts.high is not None else {}),
            "losses": len(events),
        },
        related=elsewhere(f"this loss takes {mistake.instead}", first.location, place),
        step_first=first.step + 1,
        step_count=len(events),
    )


def _sums(operand: LossOperand) -> str:
    if are_probabilities(operand):
        return ", and each row sums to 1"
    if operand.log_sums and not are_log_probabilities(operand):
        return f", and the exponentials of a row sum to e^{operand.log_sums[0]:.3g} instead of 1"
    return ""


def bad() -> None:
    import torch
    from torch import nn
    from torch.nn import functional

    class Tagger(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding, self.head = nn.Embedding(20, 8), nn.Linear(8, 5)

        def forward(self, words: torch.Tensor) -> torch.Tensor:
            return functional.softmax(self.head(self.embedding(words)), dim=1)  # <- AD603

    torch.manual_seed(0)
    model, criterion = Tagger(), nn.NLLLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        words = torch.randint(20, (64,))
        loss = criterion(model(words), words % 5)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_scores() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model, criterion = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)), nn.NLLLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(64, 8)
        loss = criterion(model(x), x[:, :4].argmax(1))  # <- AD603
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_sequences() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 5), nn.Softmax(dim=-1))
    criterion = nn.CTCLoss(zero_infinity=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    lengths, targets = torch.full((8,), 12), torch.full((8,), 4)
    for _ in range(10):
        labels = torch.randint(1, 5, (8, 4))
        frames = torch.randn(12, 8, 6) + labels.repeat_interleave(3, 1).t()[:, :, None]
        loss = criterion(model(frames), labels, lengths, targets)  # <- AD603
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn
    from torch.nn import functional

    torch.manual_seed(0)
    teacher, student = nn.Linear(8, 4), nn.Linear(8, 4)
    optimizer = torch.optim.Adam(student.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(64, 8)
        with torch.no_grad():
            wanted = functional.log_softmax(teacher(x) / 2, dim=1)
        given = functional.log_softmax(student(x) / 2, dim=1)
        divergence = functional.kl_div(given, wanted, reduction="batchmean", log_target=True)
        loss = (
            functional.nll_loss(given, x[:, :4].argmax(1))
            + divergence
            + functional.kl_div(given, wanted.exp(), reduction="sum") / 64
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_by_hand() -> None:
    import torch
    from torch import nn
    from torch.nn import functional

    torch.manual_seed(0)
    model = nn.Linear(8, 4)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(64, 8)
        labels = x[:, :4].argmax(1)
        scores = model(x)
        log_probabilities = scores - scores.logsumexp(1, keepdim=True)
        weighted = (1 - log_probabilities.exp()).square() * log_probabilities
        cautious = torch.log(0.9 * functional.softmax(scores, 1) + 0.025)
        picked = functional.nll_loss(scores, labels) + scores.logsumexp(1).mean()
        loss = functional.nll_loss(weighted, labels) + functional.nll_loss(cautious, labels) + picked
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_sequences() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 5))
    criterion = nn.CTCLoss(zero_infinity=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    lengths, targets = torch.full((8,), 12), torch.full((8,), 4)
    for _ in range(10):
        labels = torch.randint(1, 5, (8, 4))
        frames = torch.randn(8, 12, 6) + labels.repeat_interleave(3, 1)[:, :, None]
        loss = criterion(model(frames).log_softmax(2).transpose(0, 1), labels, lengths, targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_rates() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(256, 4)
    counts = torch.poisson((0.5 * x[:, :1]).exp())
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1), nn.Softplus())
    criterion = nn.PoissonNLLLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for rows in torch.arange(256).split(32):
        optimizer.zero_grad()
        loss = criterion(model(x[rows]), counts[rows])  # <- AD603
        loss.backward()
        optimizer.step()


def good_rates() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(256, 4)
    counts = torch.poisson((0.5 * x[:, :1]).exp())
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1), nn.Softplus())
    criterion = nn.PoissonNLLLoss(log_input=False)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for rows in torch.arange(256).split(32):
        optimizer.zero_grad()
        loss = criterion(model(x[rows]), counts[rows])
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD603",
    name="probabilities-as-log-probabilities",
    severity="error",
    title="a loss got something else than the logarithms that it takes",
    observes="The prediction of `nll_loss`, `ctc_loss` or `kl_div` holds probabilities, by the operation that made it "
    "or by rows that sum to one, or comes from a layer and the exponentials of its rows do not sum to one. Of `kl_div` "
    "also a target of probabilities with `log_target=True`, or of log-probabilities without. A warning: what "
    "`poisson_nll_loss` takes for the logarithms of rates was made by `exp` or `softplus`.",
    why="These losses take no logarithm: given probabilities, the loss is a mean of numbers between -1 and "
    "0 whose gradient hardly tells a wrong prediction from a right one; given scores, it falls without end. A rate "
    "that is taken for its logarithm becomes one that is never below 1.",
    fix="`log_softmax` before these losses; for classes, `cross_entropy` on scores; for rates, `log_input=False`.",
    fine="Log-probabilities of any making: weighted, mixed, smoothed, or scores of which another function, as "
    "`logsumexp` or an integral, is in the loss too. Probabilities that `nll_loss` picks and the loss takes from 1, as "
    "mean absolute and generalised cross entropies do.",
    needs=(BackwardRan, LossComputed, TapeSealed),
    examine=examine,
    bad=(bad, bad_scores, bad_sequences, bad_rates),
    good=(good, good_by_hand, good_sequences, good_rates),
    tunables={"steps": Tunable(2, "fewest steps with such rates", MORE_THAN_ONCE)},
    folds=("AD116", "AD401", "AD402", "AD405", "AD406", "AD409", "AD410", "AD412", "AD609"),
    about="loss",
)
