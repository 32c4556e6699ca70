"""Whether one tensor is made of what comes after another, where both are parts of one output, told by their graphs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from typing import Any, Literal, NamedTuple

import torch

from autograd_doctor.reading.first_rows import signed
from autograd_doctor.reading.graph_structure import nodes_of
from autograd_doctor.reading.graph_walk import operation_of
from autograd_doctor.reading.provenance import leaf_of

_JOINS = frozenset({"Cat", "Stack"})
_DIVIDES = frozenset({"Split", "SplitWithSizes", "Unbind"})
"""Nodes of operations with a result for each part."""

_Place = tuple[int | None, int]
Relation = Literal["apart", "later", "same"]


class _Way(NamedTuple):
    """From a node of one graph alone to one that both have: which of its arguments that is, and which result of it."""

    node: Any
    argument: int
    end: Any
    result: int


def relation_of(target: torch.Tensor, prediction: torch.Tensor) -> Relation:
    """ "apart" where their graphs have no more in common than leaves; "later" where a target takes of one output, or of
    a row of outputs, only what comes after that which a prediction begins with; "same" for anything else."""
    ours, theirs = nodes_of([target]), nodes_of([prediction])
    shared = {node for node in {*ours} & {*theirs} if leaf_of(node) is None}
    if not shared:
        return "apart"
    taken, begun = _ways(ours, shared), _ways(theirs, shared) or [_Way(None, 0, theirs[0], 0)]
    is_one = len({way.end for way in taken + begun}) == 1
    return "later" if _follows_on(begun) or (is_one and _comes_after(taken, begun, ours)) else "same"


def _ways(nodes: Iterable[Any], shared: Set[Any]) -> list[_Way]:
    return [
        _Way(node, argument, end, result)
        for node in nodes
        if node not in shared
        for argument, (end, result) in enumerate(node.next_functions)
        if end in shared
    ]


def _follows_on(begun: Sequence[_Way]) -> bool:
    """Whether a prediction is joined of several outputs, the first of which is of no concern to the target."""
    is_joined = len({way.node for way in begun}) == 1 and _kind(begun[0].node) in _JOINS
    return is_joined and all(way.argument > 0 for way in begun)


def _comes_after(taken: Sequence[_Way], begun: Sequence[_Way], nodes: Sequence[Any]) -> bool:
    places = [place for way in taken for place in _places(way, nodes)]
    begins = [_place(way) for way in begun]
    is_along_one = len({dim for dim, _ in places + begins} - {None}) <= 1
    return is_along_one and bool(places) and min(start for _, start in places) > min(start for _, start in begins)


def _places(way: _Way, nodes: Iterable[Any]) -> list[_Place]:
    if _kind(way.node) not in _DIVIDES:
        return [_place(way)]
    return [(None, result) for node in nodes for each, result in node.next_functions if each is way.node]


def _place(way: _Way) -> _Place:
    """Along which dimension, if that is known, and how far into an output that begins which a node takes of it."""
    node, kind = way.node, _kind(way.node)
    if _kind(way.end) in _DIVIDES:
        return None, way.result
    if kind in ("Select", "Slice"):
        sizes = node._saved_self_sym_sizes
        dim = signed(node._saved_dim) % len(sizes)
        given = signed(node._saved_index if kind == "Select" else node._saved_start)
        return dim, max(given + sizes[dim] if given < 0 else given, 0)
    if kind == "Roll" and len(node._saved_shifts) == 1:
        return None, max(-signed(node._saved_shifts[0]), 0)
    return None, 0


def _kind(node: Any) -> str:
    return "" if node is None else operation_of(node)
