"""AD635 mask-used-as-index: truth values that were turned into whole numbers pick rows 0 and 1, again and again."""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.tapes import TapeSealed
from autograd_doctor.findings import Finding, Location
from autograd_doctor.rules import Rule, Tunables
from autograd_doctor.tape import Op, Tape, Value
from autograd_doctor.trace import Trace
from autograd_doctor.views.tapes import Seen, seen_in_steps


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    for seen in seen_in_steps(trace, _masks, tunables["steps"]):
        if seen.found.count >= tunables["rows"]:
            yield _finding(seen)


def _finding(seen: Seen[Value]) -> Finding:
    rows = seen.found.count
    return RULE.finding(
        f"all {rows} numbers of this index are 0 or 1, and were truth values before: as whole numbers they pick row 0 "
        f"or row 1, {rows} times, where a mask would choose among {rows} rows",
        subject="index",
        location=seen.location,
        help="index with the truth values themselves: `x[mask.bool()]`, or leave out the cast to whole numbers",
        evidence={"rows": rows, "steps": seen.steps},
        step_first=seen.step + 1,
        step_count=seen.steps,
    )


def _masks(tape: Tape) -> Iterator[tuple[Location | None, Value]]:
    """Whole numbers 0 and 1, of truth values, one for each row of what they pick from, which has learned."""
    for op in tape.named("__getitem__", "index_select"):
        if len(op.values) == 2 and op.values[0].learns and _picks_for_each_row(op):
            index = op.values[1]
            if index.kind == "int" and index.span is not None and _is_zero_or_one(*index.span) and _was_truth(index):
                yield op.location, index


def _picks_for_each_row(op: Op) -> bool:
    """Whether the index has as many numbers as one axis of what it picks from, so that the shape stays."""
    source, index = op.values
    return len(index.shape) == 1 and index.count in source.shape and op.output.shape == source.shape


def _is_zero_or_one(low: float, high: float) -> bool:
    return low >= 0 and high <= 1


def _was_truth(index: Value) -> bool:
    """Whether it was a comparison, or another mask, before it was cast to whole numbers."""
    value: Value | None = index
    while value is not None and value.kind == "int":
        value = value.by.values[0] if value.by is not None and value.by.values else None
    return value is not None and value.kind == "bool"


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
    observes="What is picked by an index from values that have learned: whether all its numbers are 0 or 1, were truth "
    "values before, and are as many as the axis that they pick from has entries.",
    why="Truth values choose among rows; whole numbers name them. As `long`, the mask `True, False, True` picks the "
    "rows 1, 0, 1. The shape is as before, nothing fails, and all but two samples of a batch teach nothing.",
    fix="Keep a mask as `bool`: `scores[tags >= 0]`, or `scores[mask.bool()]` where it comes as whole numbers.",
    fine="An index of zeros and ones into a table of two rows or two columns, and permutations.",
    needs=(TapeSealed,),
    examine=examine,
    bad=(bad,),
    good=(good, good_picks_one_of_two_rows, good_two_actions),
    tunables={"steps": 2, "rows": 8},
    about="loss",
    references=("https://docs.pytorch.org/docs/stable/tensors.html#torch.Tensor.index_select",),
)
