"""AD635 mask-used-as-index: truth values that were turned into whole numbers pick rows 0 and 1, again and again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from autograd_doctor.events.tapes import TapeSealed
from autograd_doctor.findings import Finding, Location
from autograd_doctor.operations import CONSTANTS, MOVES
from autograd_doctor.rules import MORE_THAN_ONCE, Rule, Tunable, Tunables
from autograd_doctor.tape import Op, Tape, Value, behind, source_of
from autograd_doctor.trace import Trace
from autograd_doctor.views.tapes import Seen, seen_in_steps

_CHOOSES = frozenset({"__setitem__", "masked_fill", "where"})
_YES_AND_NO = MOVES | _CHOOSES | {"float", "int", "long", "mul", "short", "sub", "to", "type", "type_as"}


class _Pick(NamedTuple):
    """with_partner: the same index also picks from something else, as a mask does from predictions and targets."""

    mask: Value
    with_partner: bool


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    for seen in seen_in_steps(trace, _masks, tunables["steps"]):
        if seen.found.mask.count >= tunables["rows"]:
            yield _finding(seen)


def _finding(seen: Seen[_Pick]) -> Finding:
    rows = seen.found.mask.count
    return RULE.finding(
        f"all {rows} numbers of this index are 0 or 1: as whole numbers they pick entry 0 or entry 1, {rows} times, "
        f"where a mask would choose among {rows}; nothing else of what they pick from reaches the loss",
        subject="index",
        location=seen.location,
        severity="error" if seen.found.with_partner else "warning",
        confidence="high" if seen.found.with_partner else "medium",
        help="index with truth values: `x[mask.bool()]`, or leave out the cast to whole numbers",
        evidence={"numbers": rows, "steps": seen.steps},
        step_first=seen.step + 1,
        step_count=seen.steps,
    )


def _masks(tape: Tape) -> Iterator[tuple[Location | None, _Pick]]:
    """Whole numbers 0 and 1, one for each entry of what they pick from, which has learned and is not used otherwise."""
    for op in tape.named("__getitem__", "index_select"):
        if len(op.values) != 2 or not op.values[0].learns or not _picks_for_each_entry(op):
            continue
        source, index = op.values
        partners = [use for use in index.uses if use.name == op.name and use.values[0] is not source]
        if index.kind == "int" and index.span == (0, 1) and not _is_used_otherwise(source, index):
            if partners and (index.by is None or _was_truth(index)):
                yield op.location, _Pick(index, with_partner=True)
            elif _was_truth(index):
                yield op.location, _Pick(index, with_partner=False)


def _is_used_otherwise(source: Value, index: Value) -> bool:
    """Whether more of it reaches the loss than what is picked: what merely chose that is no more, as where the smaller
    ones of some losses are kept."""
    choosing, met, pending = {*behind([index], live=False)}, set[Op](), [source]
    while pending:
        uses = {use for use in pending.pop().uses if index not in use.values} - met
        if not uses <= choosing:
            return True
        met |= uses
        pending += (output for use in uses for output in use.outputs)
    return False


def _picks_for_each_entry(op: Op) -> bool:
    """Whether the index has as many numbers as one axis of what it picks from, or as its first ones."""
    source, index = op.values
    if len(index.shape) == 1:
        return index.count in source.shape and op.output.shape == source.shape
    first = source.shape[: len(index.shape)]
    return index.shape == first and op.output.shape == (*index.shape, *source.shape[1:])


def _was_truth(value: Value) -> bool:
    """Whether it says yes and no: a comparison, or what only casts, products and complements have made of some, or what
    is 0 or 1 where one says so."""
    if value.kind == "bool":
        return True
    op = value.by
    if op is None or not op.values or op.name not in _YES_AND_NO:
        return False
    if op.name in _CHOOSES:
        others = [each for each in op.values if each.kind != "bool"]
        return len(others) < len(op.values) and set(op.numbers) <= {0, 1} and all(map(_is_constant, others))
    return set(op.numbers) <= {1} and all(_was_truth(each) for each in op.values)


def _is_constant(value: Value) -> bool:
    """Whether it was filled with one number."""
    made = source_of(value, MOVES).by
    return made is not None and made.name in CONSTANTS


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 5))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(8):
        words, tags = torch.randn(48, 8), torch.randint(0, 5, (48,))
        tags[40:] = -1
        known = (tags >= 0).long()
        scores = model(words)
        loss = nn.functional.cross_entropy(scores[known], tags[known])  # <- AD635
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 5))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(8):
        words, tags = torch.randn(48, 8), torch.randint(0, 5, (48,))
        tags[40:] = -1
        known = (tags >= 0).long()
        scores = model(words)
        loss = nn.functional.cross_entropy(scores[known.bool()], tags[known.bool()])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_picks_one_of_two_rows() -> None:
    """Truth values that look up one of two learned vectors, as those of a token's kind do."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    kinds, head = nn.Embedding(2, 8), nn.Linear(8, 1)
    optimizer = torch.optim.Adam([*kinds.parameters(), *head.parameters()], lr=1e-2)
    for _ in range(8):
        x = torch.randn(48, 8)
        kind = (x[:, 0] > 0).long()
        loss = nn.functional.mse_loss(head(x + torch.tanh(kinds.weight)[kind]), kind[:, None].float())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def good_two_actions() -> None:
    """The value of one of two actions for each row: the index chooses a column."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    critic = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
    optimizer = torch.optim.Adam(critic.parameters(), lr=1e-2)
    for _ in range(8):
        states = torch.randn(32, 4)
        actions = (states[:, 0] > 0).long()
        values = critic(states)[torch.arange(32), actions]
        loss = nn.functional.mse_loss(values, states.sum(dim=1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


RULE = Rule(
    code="AD635",
    name="mask-used-as-index",
    severity="error",
    title="a mask of whole numbers is used as an index",
    observes="What is picked by an index from values that have learned, of which nothing else reaches the loss, but "
    "what the index was made of: whether its numbers are 0 and 1, as many as there are entries to choose among, and "
    "either were truth values before or pick from something else as well, as a mask does from predictions and targets.",
    why="Truth values choose among rows; whole numbers name them. As `long`, the mask `True, False, True` picks the "
    "rows 1, 0, 1. The shape is as before, nothing fails, and all but two samples of a batch teach nothing.",
    fix="Keep a mask as `bool`: `scores[tags >= 0]`, or `scores[mask.bool()]` where it comes as whole numbers.",
    fine="An index of zeros and ones into a table of two rows or two columns, into rows that are used in other ways as "
    "well, positions that were counted or accumulated, and permutations.",
    needs=(TapeSealed,),
    examine=examine,
    bad=(bad,),
    good=(good, good_picks_one_of_two_rows, good_two_actions),
    tunables={
        "steps": Tunable(2, "fewest steps with such an index", MORE_THAN_ONCE),
        "rows": Tunable(
            8,
            "fewest numbers of the index",
            "arithmetic: eight numbers from 0 to 7 are all 0 or 1 once in 65,000 times",
        ),
    },
    folds=("AD704",),
    about="loss",
    references=("https://docs.pytorch.org/docs/stable/tensors.html#torch.Tensor.index_select",),
)
