"""AD122 plateau-reversed: a schedule lowers the rate because its metric gets better."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

from autograd_doctor.events.cycle import MetricFollowed
from autograd_doctor.events.run import LightStepsCounted
from autograd_doctor.events.steps import BackwardRan
from autograd_doctor.findings import Finding
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.wording import plural

_WHOLE = 1e-3
"""How near to a whole number the count is of which a metric is a share: single precision keeps seven digits."""
_SAME_EVALUATED = 1e-5
"""Relative: sums in single precision, over all batches of an evaluation."""
_SAME_LOSS = 1e-4
"""Relative: a mean of losses that was added up in another order, or without the last batch of another size."""


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    for event in trace.of(MetricFollowed):
        lowered = _lowered(event.learning_rates)
        losses = [loss for loss in event.losses if loss is not None]
        learns = len(losses) >= tunables["calls"] and losses[-1] < losses[0]
        if lowered and learns and _goes_the_other_way(event):
            kind = _kind(event, tunables["least_change"])
            if kind:
                yield _finding(event, kind, lowered)


def _lowered(rates: Sequence[float | None]) -> int:
    """How often the schedule has lowered its rate."""
    return sum(before is not None and after is not None and after < before for before, after in pairwise(rates))


def _goes_the_other_way(event: MetricFollowed) -> bool:
    """Whether all that came after the first value is worse to the schedule."""
    first, *later = event.metrics
    return first < min(later) if event.mode == "min" else first > max(later)


def _kind(event: MetricFollowed, least: float) -> str:
    """What the metric is, "" where it says nothing: a share of the samples of an evaluation, or the loss itself."""
    change = abs(event.metrics[-1] - event.metrics[0])
    for whole in (1, 100):
        shares = (_is_share(metric, rows, whole) for metric, rows in zip(event.metrics, event.rows, strict=True))
        if change >= least * whole and all(shares):
            return _kind_of_share(event, whole)
    known = [(metric, loss) for metric, loss in zip(event.metrics, event.losses, strict=True) if loss is not None]
    is_loss = all(math.isclose(metric, loss, rel_tol=_SAME_LOSS) for metric, loss in known)
    if event.mode == "max" and is_loss:
        return "loss"
    return "evaluated" if event.mode == "max" and _is_evaluated(event) else ""


def _is_evaluated(event: MetricFollowed) -> bool:
    """Whether it was what a loss function gave in evaluations, more than once: to so many digits, nothing else is."""
    times = 0
    for metric, lines in zip(event.metrics, event.evaluated, strict=False):
        means = [mean for line in lines for mean in line]
        times += any(math.isclose(metric, mean, rel_tol=_SAME_EVALUATED) for mean in means)
    return times > 1


def _kind_of_share(event: MetricFollowed, whole: int) -> str:
    """Whether it is what was found equal, or all that was not; "share" if neither has been seen."""
    hits = mistakes = 0
    for metric, rows, lines in zip(event.metrics, event.rows, event.equal, strict=True):
        shares = {equal / samples for equal, compared in lines for samples in (compared, rows) if equal <= samples}
        hits += any(_is_near(metric / whole, share) for share in shares)
        mistakes += any(_is_near(metric / whole, 1 - share) for share in shares)
    if hits == mistakes:
        return "share"
    are_right = hits > mistakes
    return ("hits" if are_right else "mistakes") if are_right == (event.mode == "min") else ""


def _is_near(metric: float, share: float) -> bool:
    return math.isclose(metric, share, abs_tol=1e-6)


def _is_share(metric: float, rows: int, whole: int) -> bool:
    """Whether it is so many of the rows, of which there are enough for that to say something."""
    count = metric / whole * rows
    return rows > 10 and 0 <= metric <= whole and abs(count - round(count)) < max(_WHOLE, 1e-7 * rows)


def _finding(event: MetricFollowed, kind: str, lowered: int) -> Finding:
    rises = event.mode == "min"
    samples = f"of {event.rows[-1]:,} samples"
    what = {
        "share": f"a share {samples}",
        "hits": f"the share {samples} that are found right",
        "mistakes": f"the share {samples} that are found wrong",
        "loss": "the loss of training",
        "evaluated": "the loss of an evaluation",
    }[kind]
    rates = [rate for rate in event.learning_rates if rate is not None]
    mistakes = "where it is a share of mistakes, the model gets worse on these samples, and the schedule is right"
    return RULE.finding(
        f"{f'`{event.name}`' if event.name else 'the schedule'} waits for a {'minimum' if rises else 'maximum'}, and "
        f"gets {what} that {'rises' if rises else 'falls'} from {event.metrics[0]:.4g} to {event.metrics[-1]:.4g} as "
        f"the model learns: it has lowered the rate from {rates[0]:.4g} to {rates[-1]:.4g}",
        subject=event.name,
        location=event.location,
        help=f"pass `mode='{'max' if rises else 'min'}'` to `ReduceLROnPlateau`",
        evidence={
            "mode": event.mode,
            "metrics": [f"{metric:.4g}" for metric in event.metrics[:8]],
            "losses": [f"{loss:.4g}" for loss in event.losses[:8] if loss is not None],
            "lowered": plural(lowered, "time"),
        },
        severity="info" if kind == "share" else None,
        notes=(mistakes,) if kind == "share" else (),
        confidence="high" if kind in ("loss", "evaluated") else "medium",
    )


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
    title="a schedule takes progress for a standstill, and lowers the rate",
    observes="What `ReduceLROnPlateau` is given in each call, the mean loss of training since the call before, how "
    "many samples were evaluated meanwhile, how many values were found equal, and what loss functions gave. It is a "
    "fault if the metric is the share of samples found equal that rises in mode `min`, or of the others that falls in "
    "mode `max`, while the loss of training falls; or if it is that very loss, or one of an evaluation, in mode `max`.",
    why="The schedule never sees anything better than the first value. It lowers the rate every few epochs, although "
    "training goes well, until nothing more is learned.",
    fix='`mode="max"` for what is to rise, such as an accuracy; `mode="min"`, which is the default, for a loss.',
    fine="A loss of validation, or a share of mistakes, that rises, which is what the schedule is there for; metrics "
    "that get better and worse; shares that hardly change; and a schedule that has not lowered the rate. A share of "
    "which nobody saw what was counted, as one that NumPy counts, is an `info`.",
    needs=(BackwardRan, LightStepsCounted, MetricFollowed),
    examine=examine,
    bad=(bad, bad_loss_in_mode_max),
    good=(good, good_mistakes_counted),
    tunables={
        "calls": Tunable(4, "fewest calls of the schedule", "chosen: fewer may be the noise of first epochs"),
        "least_change": Tunable(
            0.05, "least change of a share, of 1", "chosen: less is within the noise of small sets"
        ),
    },
    about="loop",
    references=("https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.ReduceLROnPlateau.html",),
)
