"""At which place of a module's output the first of the rows lies that came of it, told by the nodes in between."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from autograd_doctor.reading.graph_walk import operation_of
from autograd_doctor.reading.provenance import leaf_of
from autograd_doctor.reading.subclasses import node_of

_MOVE_ROWS = frozenset({
    "Cat", "Flip", "Gather", "Index", "IndexSelect", "MaskedSelect", "Roll", "Select", "Split", "SplitWithSizes",
    "Stack", "Unbind", "Unfold",
})  # fmt: skip
_MOST_NODES = 256
_SIGNED, _WIDTH = 1 << 63, 1 << 64
"""Nodes save places that count from the end as they are in a word without a sign."""


def order_of(outputs: list[torch.Tensor]) -> int | None:
    """The number of the newest node behind these, None where they have none."""
    return max((node._sequence_nr() for node in map(node_of, outputs) if node is not None), default=None)


def first_row(rows: torch.Tensor, length: int, made_by: int | None) -> int | None:
    """How far into a sequence of this length the rows begin; None where that is not known.

    made_by: the newest node of the output that they came of; None while the module runs, where only what cuts, shapes
    and scales is followed.
    """
    found = {_start_of(cuts, length) for cuts in _ways(node_of(rows), made_by)}
    return found.pop() if len(found) == 1 else None


def _ways(node: Any, made_by: int | None) -> Iterator[list[Any] | None]:
    """The slices on each way to the output, oldest first; None where rows were moved in another way, or it is far."""
    pending, met = [(node, list[Any]())], 0
    while pending:
        node, cuts = pending.pop()
        met += 1
        before = [each for each, _ in node.next_functions if each is not None]
        moves = operation_of(node) in _MOVE_ROWS
        if moves or len(before) > 1 if made_by is None else node._sequence_nr() <= made_by:
            yield cuts
        elif met > _MOST_NODES or moves:
            yield None
        else:
            cuts = [node, *cuts] if operation_of(node) == "Slice" else cuts
            pending += [(each, cuts) for each in before if leaf_of(each) is None]


def _start_of(cuts: list[Any] | None, length: int) -> int | None:
    start = 0
    for cut in cuts or ():
        size = cut._saved_self_sym_sizes[signed(cut._saved_dim)]
        left = range(size)[signed(cut._saved_start) : signed(cut._saved_end) : cut._saved_step]
        if size == length and left.step == 1:
            start, length = start + left.start, len(left)
        elif left.start > 0 or left.step > 1:
            return None
    return None if cuts is None else start


def signed(number: int) -> int:
    """A place as the program gave it: negative where it counts from the end."""
    return number - _WIDTH if number >= _SIGNED else number
