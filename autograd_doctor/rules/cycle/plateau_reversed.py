"""AD122 plateau-reversed: a metric gets better, and a schedule, a checkpoint or early stopping takes it for worse."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

from autograd_doctor.events.cycle import MetricFollowed
from autograd_doctor.events.run import LightStepsCounted
from autograd_doctor.events.steps import BackwardRan, OptimizerStepped
from autograd_doctor.findings import Finding
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.wording import plural

_WHOLE = 1e-3
"""How near to a whole number the count is of which a metric is a share: single precision keeps seven digits."""
_FEW = 10
"""Samples of which any number may be a share."""
_SAME_EVALUATED = 1e-5
"""Relative: sums in single precision, over all batches of an evaluation."""
_SAME_LOSS = 1e-4
"""Relative: a mean of losses that was added up in another order, or without the last batch of another size."""


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    for event in trace.of(MetricFollowed):
        acted = _lowered(event.learning_rates) or event.refused
        losses = [loss for loss in event.losses if loss is not None]
        learns = len(losses) >= tunables["calls"] and losses[-1] < losses[0]
        if acted and learns and _goes_the_other_way(event):
            kind = _kind(event, tunables["least_change"])
            if kind and not (_chooses(event) and _may_be_meant(trace, event, kind)):
                yield _finding(event, kind)


def _chooses(event: MetricFollowed) -> bool:
    """Whether a framework keeps models or ends training by it, which may be meant for more than progress."""
    return event.kind != "ReduceLROnPlateau"


def _may_be_meant(trace: Trace, event: MetricFollowed, kind: str) -> bool:
    """Whether it is not sure what the metric measures, or it may be what another part of the model works against."""
    return (
        kind == "share"
        or (kind != "loss" and not _is_alone(event, kind))
        or len(_optimizers_meanwhile(trace, event)) > 1
        or any(_is_twin(event, other) for other in trace.of(MetricFollowed))
    )


def _is_alone(event: MetricFollowed, kind: str) -> bool:
    """Whether evaluations were seen to compute no other loss of as many samples, or to compare nothing else of them."""
    if kind == "evaluated":
        told = zip(event.metrics, event.evaluated, event.sizes, strict=True)
        return not any(_has_other_loss(*each) for each in told)
    whole = 1 if max(event.metrics) <= 1 else 100
    return not any(_has_other_share(metric / whole, lines) for metric, _, lines in _told(event))


def _has_other_loss(metric: float, lines: Sequence[Sequence[float]], sizes: Sequence[int]) -> bool:
    mine = {rows for means, rows in zip(lines, sizes, strict=True) if _gave(metric, means)}
    return any(rows in mine and not _gave(metric, means) for means, rows in zip(lines, sizes, strict=True))


def _has_other_share(metric: float, lines: Sequence[tuple[int, int]]) -> bool:
    shares = [(equal / compared, compared) for equal, compared in lines if compared]
    is_mine = [_is_near(metric, share) or _is_near(metric, 1 - share) for share, _ in shares]
    mine = {compared for (_, compared), mine in zip(shares, is_mine, strict=True) if mine}
    return any(compared in mine and not own for (_, compared), own in zip(shares, is_mine, strict=True))


def _optimizers_meanwhile(trace: Trace, event: MetricFollowed) -> set[int | None]:
    """Of the steps between the first metric and the last, and of as many before as between two."""
    first = 2 * event.at[0] - event.at[1]
    stepped = trace.of(OptimizerStepped)
    return {each.optimizer for each in stepped if first <= each.step < event.at[-1] and each.inside is None}


def _is_twin(event: MetricFollowed, other: MetricFollowed) -> bool:
    """Whether it does the same for the other end: the best model and the worst are kept."""
    alike = (event.kind, event.metrics) == (other.kind, other.metrics)
    return alike and other.mode != event.mode


def _lowered(rates: Sequence[float | None]) -> int:
    """How often a schedule has lowered its rate."""
    return sum(before is not None and after is not None and after < before for before, after in pairwise(rates))


def _goes_the_other_way(event: MetricFollowed) -> bool:
    """Whether all that came after the first value is worse to who follows it."""
    first, *later = event.metrics
    return first < min(later) if event.mode == "min" else first > max(later)


def _kind(event: MetricFollowed, least: float) -> str:
    """What the metric is, "" where it says nothing: a share of the samples of an evaluation, or the loss itself."""
    change = abs(event.metrics[-1] - event.metrics[0])
    for whole in (1, 100):
        if change >= least * whole and all(_is_share(metric / whole, of, lines) for metric, of, lines in _told(event)):
            return _kind_of_share(event, whole)
    known = [(metric, loss) for metric, loss in zip(event.metrics, event.losses, strict=True) if loss is not None]
    is_loss = all(math.isclose(metric, loss, rel_tol=_SAME_LOSS) for metric, loss in known)
    if event.mode == "max" and is_loss:
        return "loss"
    return "evaluated" if event.mode == "max" and _is_evaluated(event) else ""


def _is_evaluated(event: MetricFollowed) -> bool:
    """Whether it was what a loss function gave in evaluations, more than once: to so many digits, nothing else is."""
    told = zip(event.metrics, event.evaluated, strict=False)
    return sum(any(_gave(metric, line) for line in lines) for metric, lines in told) > 1


def _gave(metric: float, means: Sequence[float]) -> bool:
    """Whether a metric is one of the means that a line may have given."""
    return any(math.isclose(metric, mean, rel_tol=_SAME_EVALUATED) for mean in means)


def _kind_of_share(event: MetricFollowed, whole: int) -> str:
    """Whether it is what was found equal, or all that was not; "share" if neither has been seen."""
    hits = mistakes = 0
    for metric, rows, lines in _told(event):
        shares = _shares(rows, lines)
        hits += any(_is_near(metric / whole, share) for share in shares)
        mistakes += any(_is_near(metric / whole, 1 - share) for share in shares)
    if hits == mistakes:
        return "share"
    are_right = hits > mistakes
    return ("hits" if are_right else "mistakes") if are_right == (event.mode == "min") else ""


def _told(event: MetricFollowed) -> Iterator[tuple[float, int, list[tuple[int, int]]]]:
    """Each metric, of how many rows, and what each line has found equal, of how many."""
    return zip(event.metrics, event.rows, event.equal, strict=True)


def _shares(rows: int, lines: Sequence[tuple[int, int]]) -> set[float]:
    return {equal / of for equal, compared in lines for of in (compared, rows) if equal <= of and of > 0}


def _is_near(metric: float, share: float) -> bool:
    return math.isclose(metric, share, abs_tol=1e-6)


def _is_share(metric: float, rows: int, lines: Sequence[tuple[int, int]]) -> bool:
    """Whether it is so many of the rows, of which there are enough for that to say something, or what a line found."""
    count = metric * rows
    if rows > _FEW and 0 <= metric <= 1 and abs(count - round(count)) < max(_WHOLE, 1e-7 * rows):
        return True
    shares = _shares(0, [(equal, compared) for equal, compared in lines if compared > _FEW])
    return any(_is_near(metric, share) or _is_near(metric, 1 - share) for share in shares)


def _finding(event: MetricFollowed, kind: str) -> Finding:
    rises = event.mode == "min"
    samples = f"of {event.rows[-1]:,} samples" if event.rows[-1] > _FEW else "of the samples"
    what = {
        "share": f"a share {samples}",
        "hits": f"the share {samples} that are found right",
        "mistakes": f"the share {samples} that are found wrong",
        "loss": "the loss of training",
        "evaluated": "the loss of an evaluation",
    }[kind]
    goes = f"{'rises' if rises else 'falls'} from {event.metrics[0]:.4g} to {event.metrics[-1]:.4g} as the model learns"
    chooses = _chooses(event)
    return RULE.finding(
        _choice(event, what, goes) if chooses else _schedule(event, what, goes),
        subject=event.name or (event.kind if chooses else ""),
        location=event.location,
        help=_help(event),
        evidence={
            **({"metric": event.monitor} if event.monitor else {}),
            "mode": event.mode,
            "metrics": [f"{metric:.4g}" for metric in event.metrics[:8]],
            "losses": [f"{loss:.4g}" for loss in event.losses[:8] if loss is not None],
            **({} if chooses else {"lowered": plural(_lowered(event.learning_rates), "time")}),
        },
        severity="info" if kind == "share" else None,
        notes=_notes(kind, chooses=chooses),
        confidence="high" if kind in ("loss", "evaluated") else "medium",
    )


def _notes(kind: str, *, chooses: bool) -> tuple[str, ...]:
    if kind == "share":
        return ("where it is a share of mistakes, the model gets worse on these samples, and the schedule is right",)
    if kind == "hits" and chooses:
        return ("where few of these are to be found, as of what a model should forget, it is right",)
    return ()


def _schedule(event: MetricFollowed, what: str, goes: str) -> str:
    rates = [rate for rate in event.learning_rates if rate is not None]
    return (
        f"{f'`{event.name}`' if event.name else 'the schedule'} waits for a "
        f"{'minimum' if event.mode == 'min' else 'maximum'}, and gets {what} that {goes}: it has lowered the rate from "
        f"{rates[0]:.4g} to {rates[-1]:.4g}"
    )


def _choice(event: MetricFollowed, what: str, goes: str) -> str:
    best = f"{'lowest' if event.mode == 'min' else 'highest'} {f'`{event.monitor}`' if event.monitor else 'score'}"
    return (
        f"`{event.name or event.kind}` takes the {best} for the best, and gets {what}, which {goes}: "
        f"of {len(event.metrics)} evaluations, the first counts as the best"
    )


def _help(event: MetricFollowed) -> str:
    """The change to make where the direction was told."""
    other = "max" if event.mode == "min" else "min"
    return {
        "mode": f"pass `mode='{other}'` to `{event.kind}`",
        "greater_is_better": f"pass `greater_is_better={other == 'max'}` to `{event.kind}`",
        "score_function": f"return the negative of it from the `score_function` of `{event.kind}`",
    }[event.argument]


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(6, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0)
    x, held_out = torch.randn(128, 6), torch.randn(64, 6)
    labels, answers = x[:, :3].argmax(1), held_out[:, :3].argmax(1)
    for _ in range(8):
        for batch in range(4):
            rows = slice(32 * batch, 32 * batch + 32)
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x[rows]), labels[rows]).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            accuracy = (model(held_out).argmax(1) == answers).float().mean().item()
        model.train()
        scheduler.step(accuracy)  # <- AD122


def bad_loss_in_mode_max() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, mode="max", patience=1)
    for _ in range(10):
        losses = []
        for _ in range(5):
            x = torch.randn(32, 4)
            loss = (model(x) - x.sum(1, keepdim=True)).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        plateau.step(sum(losses) / len(losses))  # <- AD122


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(6, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, mode="max", patience=0)
    x, held_out = torch.randn(128, 6), torch.randn(64, 6)
    labels, answers = x[:, :3].argmax(1), held_out[:, :3].argmax(1)
    for _ in range(8):
        for batch in range(4):
            rows = slice(32 * batch, 32 * batch + 32)
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x[rows]), labels[rows]).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            accuracy = (model(held_out).argmax(1) == answers).float().mean().item()
        model.train()
        scheduler.step(accuracy)


def good_mistakes_counted() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(6, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0)
    x, held_out = torch.randn(128, 6), torch.randn(64, 6)
    labels, answers = x[:, :3].argmax(1), held_out[:, :3].argmax(1)
    for _ in range(8):
        for batch in range(4):
            rows = slice(32 * batch, 32 * batch + 32)
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x[rows]), labels[rows]).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            mistakes = (model(held_out).argmax(1) != answers).float().mean().item()
        model.train()
        scheduler.step(mistakes)


RULE = Rule(
    code="AD122",
    name="plateau-reversed",
    severity="warning",
    title="progress is taken for its opposite: a schedule lowers the rate, or the worst model is kept as the best",
    observes="What is given to `ReduceLROnPlateau`, to `ModelCheckpoint` and `EarlyStopping` of Lightning, to "
    "`metric_for_best_model` of Transformers, and to `Checkpoint` and `EarlyStopping` of Ignite; the mean loss of "
    "training since the value before, how many samples were evaluated, how many values were found equal, and what "
    "loss functions gave. It is a fault if the metric is the share of samples found equal that rises in mode `min`, "
    "or of the others that falls in mode `max`, while the loss of training falls; or if it is that very loss, or one "
    "of an evaluation, in mode `max`.",
    why="Nothing seems better than the first value. A schedule lowers the rate every few epochs, although training "
    "goes well, until nothing more is learned; a checkpoint keeps the model that has learned least; early stopping "
    "ends training as soon as its patience allows.",
    fix='`mode="max"`, or `greater_is_better=True`, for what is to rise, such as an accuracy; `mode="min"`, which is '
    "the default of most, for a loss. Ignite takes the highest score for the best: return the negative of a loss.",
    fine="A loss of validation, or a share of mistakes, that rises, which is what these are there for; metrics that "
    "get better and worse; shares that hardly change; other numbers, such as rewards, perplexities and steps; a "
    "schedule that has not lowered the rate, a checkpoint that keeps every model, and early stopping that has not "
    "ended training, or did so at a threshold. A share of which nobody saw what was counted, as one that NumPy "
    "counts, is an `info` where a schedule follows it; of checkpoints and early stopping, nothing is said then, nor "
    "where several optimizers step, as in adversarial training, where an evaluation computes several losses, or "
    "compares several things, of the same samples, or where another checkpoint keeps the other end of the same metric. "
    "What two models say is no hit where they agree, nor is a class with which all answers are compared. Checkpoints "
    "and early stopping are judged only by hits and losses of what is known to come from a model.",
    needs=(BackwardRan, LightStepsCounted, MetricFollowed, OptimizerStepped),
    examine=examine,
    bad=(bad, bad_loss_in_mode_max),
    good=(good, good_mistakes_counted),
    tunables={
        "calls": Tunable(4, "fewest values of the metric", "chosen: fewer may be the noise of first epochs"),
        "least_change": Tunable(
            0.05, "least change of a share, of 1", "chosen: less is within the noise of small sets"
        ),
    },
    about="loop",
    references=(
        "https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.ReduceLROnPlateau.html",
        "https://lightning.ai/docs/pytorch/stable/api/lightning.pytorch.callbacks.ModelCheckpoint.html",
    ),
)
