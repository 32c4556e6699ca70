"""AD637 unsigned-labels: labels of 0 and 1 for a loss that takes -1 and 1."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.tapes import TapeSealed, TapeSeenAgain
from autograd_doctor.findings import Finding, Location
from autograd_doctor.operations import SIGNED
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.tape import Op, Tape
from autograd_doctor.trace import Trace
from autograd_doctor.views.so_far import has_ended
from autograd_doctor.views.tapes import Seen, seen_in_steps

_EFFECTS = {
    "cosine_embedding_loss": "a pair labelled 0 adds nothing: pairs that do not belong together are never driven apart",
    "hinge_embedding_loss": "a pair labelled 0 counts as one of both kinds",
    "soft_margin_loss": "an element labelled 0 adds log 2 whatever the score is, and no gradient",
}


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    signed = {op.location for tape in trace.tapes for op in tape.named(*SIGNED) if _has_sign(op)}
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
        if has_both and op.plain and op.plain[-1].span == (0, 1) and _is_all(op, tape):
            yield op.location, op


def _is_all(op: Op, tape: Tape) -> bool:
    """Whether a loss of one number is all that goes backward, but for a factor."""
    value = op.output
    while not value.shape and value not in tape.roots and len(value.uses) == 1 and value.uses[0].name in ("div", "mul"):
        value = value.uses[0].output
    return not value.shape and tape.roots == (value,)


def _finding(seen: Seen[Op], *, so_far: bool) -> Finding:
    name, labels = seen.found.name, seen.found.plain[-1].count
    return RULE.finding(
        f"`{name}` takes labels of -1 and 1, and got 0 and 1: {_EFFECTS[name]}",
        subject=name,
        location=seen.location,
        confidence="medium",
        so_far=so_far,
        help="give it `2 * label - 1`, or take `binary_cross_entropy_with_logits` where labels are 0 and 1"
        if name == "soft_margin_loss"
        else "give it `2 * label - 1`",
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
    "`cosine_embedding_loss` go from 0 to 1; there is no -1.",
    why="These losses tell the classes apart by the sign. With 0 in the place of -1 half of the data teaches nothing: "
    "scores are driven up, or embeddings together, until all are alike.",
    fix="Turn 0 and 1 into -1 and 1: `2 * label - 1`.",
    fine="Labels of -1, 0 and 1, where 0 leaves an element out; labels that are all 1; a loss beside others, one that "
    "is weighted by element, or embeddings of which one stays where it is. A run of which only a part was seen gets an "
    "info. Losses over ranks are not looked at: there a 0 is a tie.",
    needs=(TapeSealed, TapeSeenAgain),
    examine=examine,
    bad=(bad, bad_classes),
    good=(good, good_left_out),
    tunables={"steps": Tunable(2, "steps looked at in which no label is -1", MORE_THAN_ONCE)},
    folds=("AD410",),
)
