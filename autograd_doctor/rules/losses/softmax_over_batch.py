"""AD605 softmax-over-batch: a softmax ran over another dimension than that of the classes, most often the batch."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from autograd_doctor.events.losses import LossComputed, Shaping, WeightsApart
from autograd_doctor.events.steps import BackwardRan
from autograd_doctor.findings import Finding
from autograd_doctor.rules import Rule, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.views.lines import in_several_steps
from autograd_doctor.views.losses import (
    PICKED,
    SOFTMAXES,
    SQUARED,
    WEIGHTED,
    are_log_probabilities,
    are_probabilities,
    classes,
    elsewhere,
    faulty_losses,
    named,
    sum_to_one,
)
from autograd_doctor.wording import shape

_OF_CLASSES = ("cross_entropy", "ctc_loss", "nll_loss", *PICKED)
_BY_VALUE = ("binary_cross_entropy", *SQUARED, *WEIGHTED)


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    for events in faulty_losses(trace, *_OF_CLASSES, where=_is_over_another_dimension, blamed=_softmax):
        yield _finding(events)
    for events in faulty_losses(trace, *_BY_VALUE, where=_is_over_rows, blamed=_softmax):
        yield _finding(events)
    apart = trace.of(WeightsApart)
    products, mixtures = ([event for event in apart if bool(event.over) == summed] for summed in (False, True))
    for multiplied in in_several_steps(trace, products, lambda event: event.softmax.location, 2):
        yield _weights(multiplied)
    for summed in in_several_steps(trace, mixtures, lambda event: event.location, 2):
        yield _mixture(summed)


def _softmax(event: LossComputed) -> Shaping | None:
    """The softmax, or log-softmax, that made a prediction; a logarithm may have been taken of it."""
    shaping = event.prediction.shaping
    if shaping is not None and shaping.operation == "log":
        shaping = shaping.behind
    wanted = shaping is not None and shaping.operation in SOFTMAXES | {"log_softmax"}
    return shaping if wanted else None


def _is_over_another_dimension(event: LossComputed) -> bool:
    """By what a row sums to, whichever way the dimensions were moved since; a row of one class says nothing."""
    softmax = _softmax(event)
    if softmax is None or classes(event) < 2 or event.in_order or _was_picked(event, softmax):
        return False
    if not event.prediction.sums or are_probabilities(event.prediction) or are_log_probabilities(event.prediction):
        return False
    return softmax.dim is not None and softmax.shape[softmax.dim] > 1 and _shows(event, softmax)


def _was_picked(event: LossComputed, softmax: Shaping) -> bool:
    """Whether one class of each row is left, as of the actions that were taken: now rows are picked."""
    left = event.prediction.facts.shape
    return len(left) < len(softmax.shape) and prod(left) < prod(softmax.shape)


def _shows(event: LossComputed, softmax: Shaping) -> bool:
    """Whether the classes are in another dimension than the softmax saw, as far as views or sizes tell.

    Of a softmax whose classes were not all given to the loss, as without the one that says "none of these", no
    dimension is larger than it was; then the rows sum to less than 1, by what was cut off.
    """
    left = event.prediction.facts.shape
    if event.softmax_dim is not None:
        return event.softmax_dim != event.class_dim
    alike = len(left) == len(softmax.shape) and all(now <= was for now, was in zip(left, softmax.shape, strict=True))
    if alike:
        return softmax.dim != event.class_dim
    assert softmax.dim is not None
    return softmax.shape[softmax.dim] != classes(event)


def _is_over_rows(event: LossComputed) -> bool:
    """Whether it ran over the first dimension, while the targets are probabilities by row, or one for each row."""
    softmax = _softmax(event)
    if softmax is None or softmax.dim != 0 or softmax.shape != event.prediction.facts.shape or softmax.shape[0] < 2:
        return False
    target = event.target
    if target.facts.shape != softmax.shape or sum_to_one(target.sums_over_softmax):
        return False
    alone = softmax.shape[1:] == [1] * (len(softmax.shape) - 1) and len(softmax.shape) > 1
    return (len(softmax.shape) == 2 and are_probabilities(target)) or (alone and target.binary)


def _finding(events: list[LossComputed]) -> Finding:
    first = events[0]
    softmax = _softmax(first)
    assert softmax is not None
    place = softmax.location or first.location
    where = f"dimension {softmax.dim} of {shape(softmax.shape)}"
    sums = first.prediction.sums
    seen = f": the {classes(first)} classes of a row sum to {sums[0]:.3g} to {sums[1]:.3g}" if _sums(first) else ""
    return RULE.finding(
        f"`{softmax.operation}` ran over {where}, and the loss takes {named(first.prediction, 'its result')} to hold "
        f"the classes in another one{seen}",
        subject=first.prediction.facts.name,
        location=place,
        help=f"name the dimension of the classes: `dim={_wanted(first, softmax)}`"
        + ("; `cross_entropy` takes the scores without any softmax" if first.operation == "cross_entropy" else ""),
        evidence={"softmax_dim": softmax.dim or 0, "softmax_shape": shape(softmax.shape), "losses": len(events)},
        related=elsewhere("this loss takes another dimension for that of the classes", first.location, place),
        step_first=first.step + 1,
        step_count=len(events),
    )


def _weights(events: list[WeightsApart]) -> Finding:
    """Attention over heads or samples: each weighted sum is taken within one slice, whose weights are shared out."""
    first = events[0]
    softmax = first.softmax
    dim = softmax.dim or 0
    place = softmax.location or first.location
    return RULE.finding(
        f"`{softmax.operation}` ran over dimension {dim} of {shape(softmax.shape)}, and `{first.operation}` sums up "
        f"with these weights inside each of its {softmax.shape[dim]} slices: they sum to 1 across them, and to "
        "anything within",
        subject="weights",
        location=place,
        help="name the dimension that the weighted sum runs over: `dim=-1` for attention over keys",
        severity="warning",
        confidence="medium",
        evidence={"softmax_dim": dim, "softmax_shape": shape(softmax.shape)},
        related=elsewhere("the weighted sum is taken here", first.location, place),
        step_first=first.step + 1,
        step_count=len(events),
    )


def _sums(event: LossComputed) -> bool:
    low = event.prediction.facts.low
    return bool(event.prediction.sums) and low is not None and low >= 0


def _wanted(event: LossComputed, softmax: Shaping) -> int:
    if softmax.shape == event.prediction.facts.shape and event.class_dim is not None:
        return event.class_dim
    return -1


def _mixture(events: list[WeightsApart]) -> Finding:
    first = events[0]
    softmax, over = first.softmax, ", ".join(map(str, first.over))
    dim = softmax.dim or 0
    return RULE.finding(
        f"`logsumexp` sums up over dimension {over} of {shape(softmax.shape)}, and the logarithms of weights in it are "
        f"those of a softmax over dimension {dim}: they sum to 1 there, and to anything where they are summed up",
        subject="weights",
        location=first.location,
        help=f"sum up over the dimension of the weights: `dim={dim}`",
        severity="warning",
        confidence="medium",
        evidence={"softmax_dim": dim, "softmax_shape": shape(softmax.shape), "summed_over": over},
        related=elsewhere("the weights are made here", softmax.location, first.location),
        step_first=first.step + 1,
        step_count=len(events),
    )


def bad() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(8, 4)
            self.softmax = nn.LogSoftmax(dim=0)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.softmax(self.layer(x))  # type: ignore[no-any-return]  # <- AD605

    torch.manual_seed(0)
    model, criterion = Net(), nn.NLLLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(64, 8)
        loss = criterion(model(x), x[:, :4].argmax(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_over_time() -> None:
    import torch
    from torch import nn
    from torch.nn import functional

    torch.manual_seed(0)
    embedding, head = nn.Embedding(10, 8), nn.Linear(8, 10)
    optimizer = torch.optim.Adam([*embedding.parameters(), *head.parameters()], lr=0.01)
    for _ in range(10):
        words = torch.randint(10, (4, 7))
        guess = functional.log_softmax(head(embedding(words)), dim=1)  # <- AD605
        loss = functional.nll_loss(guess.view(-1, 10), words.view(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_mixture() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 9))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(8):
        x = torch.rand(32, 1)
        y = x + 0.3 * (6 * x).sin() + 0.05 * torch.randn(32, 1)
        scores, means, deviations = model(y).chunk(3, dim=1)
        weights = scores.log_softmax(dim=1)
        parts = torch.distributions.Normal(means, deviations.exp()).log_prob(x)
        loss = -torch.logsumexp(weights + parts, dim=0).mean()  # <- AD605
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model, criterion = nn.Sequential(nn.Linear(8, 4), nn.LogSoftmax(dim=1)), nn.NLLLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(64, 8)
        loss = criterion(model(x), x[:, :4].argmax(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_both_ways() -> None:
    import torch
    from torch import nn
    from torch.nn import functional

    torch.manual_seed(0)
    left, right = nn.Linear(8, 4), nn.Linear(8, 4)
    optimizer = torch.optim.Adam([*left.parameters(), *right.parameters()], lr=0.01)
    own = torch.arange(32)
    for _ in range(10):
        x = torch.randn(32, 8)
        likeness = functional.normalize(left(x), dim=1) @ functional.normalize(right(x), dim=1).T / 0.2
        across = functional.nll_loss(functional.log_softmax(likeness, dim=1), own) + functional.nll_loss(
            functional.log_softmax(likeness, dim=0), own
        )
        optimizer.zero_grad()
        across.backward()
        optimizer.step()


def good_mixtures() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 9))
    moves, starts = nn.Parameter(torch.randn(3, 3)), nn.Parameter(torch.zeros(3))
    optimizer = torch.optim.Adam([*model.parameters(), moves, starts], lr=1e-3)
    for _ in range(8):
        x = torch.rand(32, 1)
        y = x + 0.3 * (6 * x).sin() + 0.05 * torch.randn(32, 1)
        scores, means, deviations = model(y).chunk(3, dim=1)
        parts = torch.distributions.Normal(means, deviations.exp()).log_prob(x)
        mixture = torch.logsumexp(scores.log_softmax(dim=1) + parts, dim=1)
        state = starts.log_softmax(0)
        for part in parts[:6]:
            state = torch.logsumexp(state[:, None] + moves.log_softmax(dim=1), dim=0) + part
        loss = -mixture.mean() - 0.1 * state.logsumexp(0)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD605",
    name="softmax-over-batch",
    severity="error",
    title="a softmax ran over another dimension than the one that counts",
    observes="The dimension of the softmax or log-softmax that the prediction of `cross_entropy` or `nll_loss` "
    "came out of. It is another one than the loss takes for the classes, and no row of classes sums to one. For "
    "losses by value it is the first one, while the targets are probabilities by row. Also weights, as of attention, "
    "whose softmax ran over a dimension that the matrix product with them does not sum over, and weights of a "
    "mixture whose logarithms a `logsumexp` sums up over another dimension.",
    why="The samples of a batch, or the moments of a sequence, compete with one another for the probability that the "
    "classes of each should share: what is predicted for one sample depends on which others are in its batch.",
    fix="Name the dimension of the classes, `dim=1` or `dim=-1`. Without `dim`, torch takes the first one of three.",
    fine="Attention, losses that take each row for a class of its own, targets that are shared out likewise, and a "
    "softmax over one class more than the loss is given.",
    needs=(BackwardRan, LossComputed, WeightsApart),
    examine=examine,
    bad=(bad, bad_over_time, bad_mixture),
    good=(good, good_both_ways, good_mixtures),
    folds=("AD116", "AD407", "AD409", "AD410", "AD412", "AD608", "AD614"),
    about="axes",
)
