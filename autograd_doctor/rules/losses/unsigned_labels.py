"""AD637 unsigned-labels: labels of 0 and 1 for a loss that takes -1 and 1."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import pairwise

from autograd_doctor.events.tapes import TapeSealed, TapeSeenAgain
from autograd_doctor.findings import Finding, Location
from autograd_doctor.operations import MOVES, RESHAPES, SIGNED, TOTALS, VIEWS
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.tape import Op, Tape, Value, is_made_of_parameters, source_of
from autograd_doctor.trace import Trace
from autograd_doctor.views.so_far import has_ended
from autograd_doctor.views.tapes import Seen, seen_in_steps

_EFFECTS = {
    "cosine_embedding_loss": "a pair labelled 0 adds nothing: pairs that do not belong together are never driven apart",
    "hinge_embedding_loss": "a pair labelled 0 counts as one of both kinds",
    "soft_margin_loss": "an element labelled 0 adds log 2 whatever the score is, and no gradient",
}


_CURVES: dict[str, Callable[[float], float]] = {
    "exp": math.exp,
    "log": math.log,
    "log1p": math.log1p,
    "logsigmoid": lambda x: -math.log1p(math.exp(-x)),
    "neg": lambda x: -x,
    "relu": lambda x: max(x, 0.0),
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
    "softplus": lambda x: math.log1p(math.exp(x)),
    "square": lambda x: x * x,
}
_WITH_NUMBERS: dict[str, Callable[[float, float], float]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "pow": math.pow,
}
_SAME = TOTALS | RESHAPES | VIEWS | {"contiguous", "double", "float", "to"}
"""What leaves each element as it is, or makes one number of all."""
_MARGINS = (-9.0, -1.0, 0.0, 1.0, 9.0)
"""Labels times scores, from wrong to right: far beyond any margin, and 0 between them."""


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    signed = {op.location for tape in trace.tapes for op in tape.named(*SIGNED, "mul") if _has_sign(op)}
    for seen in seen_in_steps(trace, _unsigned, tunables["steps"]):
        if seen.location not in signed:
            yield _finding(seen, so_far=not has_ended(trace))


def _has_sign(op: Op) -> bool:
    """Whether some label is below 0."""
    return any(value.span is not None and value.span[0] < 0 for value in op.plain[-1:])


def _unsigned(tape: Tape) -> Iterator[tuple[Location | None, Op]]:
    """Where there is no label below 0 in all steps, some are 0, and nothing else makes up for these: no weight that
    leaves them out, no other term that pushes, and, between two embeddings, none that stays where it is."""
    for op in tape.named(*SIGNED):
        taught = op.live if op.name == "cosine_embedding_loss" else op.values[:1]
        has_both = len(taught) == SIGNED[op.name] and all(value.learns for value in taught)
        if has_both and op.plain and op.plain[-1].span == (0, 1) and _loss_by(op.output, tape) is not None:
            yield op.location, op
    yield from ((op.location, op) for op in tape.named("mul") if _is_label_times_score(op) and _is_margin(op, tape))


def _is_label_times_score(op: Op) -> bool:
    """A difference of two scores is a ranking; a mask of truth values is to leave out."""
    if len(op.values) != 2 or len(op.live) != 1:
        return False
    (label,), score = op.plain, source_of(op.live[0], MOVES | TOTALS).by
    compared = score.live if score is not None and score.name == "sub" else []
    is_ranking = len(compared) == 2 and not any(map(is_made_of_parameters, compared))
    return label.span == (0, 1) and label.kind != "bool" and label.count == op.output.count > 1 and not is_ranking


def _is_margin(op: Op, tape: Tape) -> bool:
    """Whether the loss falls as the label times the score rises, is not just weighed by it, and not 0 where that is."""
    curve = _loss_by(op.output, tape)
    if curve is None or min(curve) < 0 or curve[2] == 0:
        return False
    falls = all(high >= low for high, low in pairwise(curve))
    return falls and not math.isclose(curve[0] - curve[2], curve[2] - curve[4])


def _loss_by(value: Value, tape: Tape) -> list[float] | None:
    """What an element adds to the loss, but for a factor, by its number; None where something else has a part in that
    but numbers, and terms of parameters alone."""
    curve = list(_MARGINS)
    while tape.roots != (value,):
        if len(value.uses) != 1:
            return None
        (use,) = value.uses
        try:
            curve = [_applied(use, value, each) for each in curve]
        except (ArithmeticError, LookupError, ValueError):
            return None
        value = use.output
    return curve if not value.shape else None


def _applied(op: Op, value: Value, x: float) -> float:
    """What an operation makes of a number; it raises where that is not known."""
    if op.name in _SAME:
        return x
    if op.name == "clamp" and op.values == [value]:
        low, high = op.options.get("min"), op.options.get("max")
        return min(max(x, -math.inf if low is None else low), math.inf if high is None else high)
    if op.name in ("max", "maximum") and len(op.values) == 2:
        return max(x, *(_number(each) for each in op.values if each is not value))
    if op.name not in _WITH_NUMBERS:
        return _CURVES[op.name](x)
    if op.name == "add" and any(
        each is not value and each.learns and is_made_of_parameters(each) for each in op.values
    ):
        return x
    return _WITH_NUMBERS[op.name](*(x if each is value else _number(each) for each in op.operands))


def _number(operand: Value | float) -> float:
    if not isinstance(operand, Value):
        return operand
    if operand.by is not None and operand.by.name in ("zeros", "zeros_like", "new_zeros"):
        return 0.0
    low, high = operand.span or (0.0, math.nan)
    if low != high:
        raise ValueError("several numbers, or none that anybody has looked at")
    return low


def _finding(seen: Seen[Op], *, so_far: bool) -> Finding:
    name, labels = seen.found.name, seen.found.plain[-1].count
    return RULE.finding(
        f"`{name}` takes labels of -1 and 1, and got 0 and 1: {_EFFECTS[name]}"
        if name in SIGNED
        else "the loss tells two classes apart by the sign of what is multiplied with the score here, and that is 0 or "
        "1: an element labelled 0 adds the same whatever the score is, and no gradient",
        subject=name if name in SIGNED else "labels",
        location=seen.location,
        confidence="medium",
        so_far=so_far,
        help="give it `2 * label - 1`, or take `binary_cross_entropy_with_logits` where labels are 0 and 1"
        if name == "soft_margin_loss"
        else "take `2 * label - 1`",
        evidence={"labels": labels, "lowest": 0, "highest": 1, "steps": seen.steps},
        step_first=seen.step + 1,
        step_count=seen.steps,
    )


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder = nn.Sequential(nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, 8))
    optimizer = torch.optim.Adam(encoder.parameters(), lr=0.01)
    criterion = nn.CosineEmbeddingLoss(margin=0.2)
    topics = torch.randn(6, 12)
    for _ in range(20):
        left, right = torch.randint(0, 6, (2, 32))
        first, second = (topics[each] + 0.1 * torch.randn(32, 12) for each in (left, right))
        same = (left == right).long()
        loss = criterion(encoder(first), encoder(second), same)  # <- AD637
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def bad_classes() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(6, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(20):
        x = torch.randn(32, 6)
        label = (x.sum(1) > 0).float()
        loss = nn.functional.soft_margin_loss(model(x).squeeze(1), label)  # <- AD637
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(6, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(20):
        x = torch.randn(32, 6)
        label = (x.sum(1) > 0).float()
        loss = nn.functional.soft_margin_loss(model(x).squeeze(1), 2 * label - 1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_left_out() -> None:
    """0 for pairs that nobody has judged, which are to add nothing."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder = nn.Sequential(nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, 8))
    optimizer = torch.optim.Adam(encoder.parameters(), lr=0.01)
    topics = torch.randn(6, 12)
    for _ in range(20):
        left, right = torch.randint(0, 6, (2, 32))
        first, second = (topics[each] + 0.1 * torch.randn(32, 12) for each in (left, right))
        judged = torch.rand(32) < 0.7
        label = torch.where(judged, torch.where(left == right, 1, -1), 0)
        loss = nn.functional.cosine_embedding_loss(encoder(first), encoder(second), label, margin=0.2)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD637",
    name="unsigned-labels",
    severity="warning",
    title="labels of 0 and 1 for a loss that takes -1 and 1",
    observes="In all steps looked at, the labels of `soft_margin_loss`, `hinge_embedding_loss` or "
    "`cosine_embedding_loss` go from 0 to 1; there is no -1. Or so do those that are multiplied with the score in a "
    "loss that is written by hand, falls as the product rises, and is not 0 where that is: a hinge, squared or not, "
    "`log(1 + exp(-label * score))`, `exp(-label * score)`.",
    why="These losses tell the classes apart by the sign. With 0 in the place of -1 half of the data teaches nothing: "
    "scores are driven up, or embeddings together, until all are alike.",
    fix="Turn 0 and 1 into -1 and 1: `2 * label - 1`.",
    fine="Labels of -1, 0 and 1, where 0 leaves an element out; labels that are all 1; a loss beside others that are "
    "not of parameters alone, one that is weighted by element, masks of truth values, or embeddings of which one stays "
    "where it is. A run of which only a part was seen gets an info. Losses over ranks, or of a difference of two "
    "scores, are not looked at: there a 0 is a tie.",
    needs=(TapeSealed, TapeSeenAgain),
    examine=examine,
    bad=(bad, bad_classes),
    good=(good, good_left_out),
    tunables={"steps": Tunable(2, "steps looked at in which no label is -1", MORE_THAN_ONCE)},
    folds=("AD410",),
)
