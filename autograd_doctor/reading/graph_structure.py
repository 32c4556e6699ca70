"""The structure of a graph as a number, at the cost of one visit to each node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence, Set
from typing import Any

import torch
from torch.autograd.graph import get_gradient_edge

from autograd_doctor.reading.subclasses import node_of

_IN_ORDER = 4
"""Of so many, the order counts: there are operations of three tensors, and stacks of as many as a loop happened to run.
"""
MOST_NODES = 50_000
"""Of one graph, about ten times those of the largest models that people train on one machine: a visit to each takes a
microsecond, so that even a graph that grew over many steps holds nobody up."""


def nodes_of(roots: Iterable[torch.Tensor], inputs: Iterable[Any] = ()) -> list[Any]:
    """The nodes of a graph in the order in which they are met; graphs of the same structure have the same order.

    inputs: the tensors, or gradient edges, of a `grad` call. The engine does not go on behind them, but to others of
    them: models whose forward differentiates would have us walk all that came before, over and over.
    """
    begins = [node for root in roots if (node := node_of(root)) is not None]
    return _met(begins, {end_of(each) for each in inputs} - {None})


def nodes_below(node: Any) -> list[Any]:
    """Those that a gradient of a node flows into, without itself."""
    return _met([following for following, _ in node.next_functions if following is not None])


def depth_of(nodes: Sequence[Any]) -> int:
    """How many of these follow on one another at most: each that comes before others is taken first (Kahn, 1962)."""
    known = set(nodes)
    following = {node: [each for each, _ in node.next_functions if each in known] for node in nodes}
    waits_for = Counter(each for others in following.values() for each in others)
    depths = dict.fromkeys(nodes, 1)
    ready = [node for node in nodes if not waits_for[node]]
    while ready:
        node = ready.pop()
        for each in following[node]:
            depths[each] = max(depths[each], depths[node] + 1)
            waits_for[each] -= 1
            if not waits_for[each]:
                ready.append(each)
    return max(depths.values(), default=0)


def end_of(given: Any) -> Any:
    """The node into which the gradient of an input flows; None where none does."""
    if not isinstance(given, torch.Tensor):
        return getattr(given, "node", None)
    node = node_of(given)
    if node is not None or not given.requires_grad:
        return node
    return get_gradient_edge(given).node


def _met(pending: list[Any], ends: Set[Any] = frozenset()) -> list[Any]:
    met: dict[Any, None] = {}
    behind: list[Any] = []
    while len(met) < MOST_NODES:
        if not pending:
            if not behind or ends <= met.keys():
                break
            pending, behind = behind, []
        node = pending.pop()
        if node not in met:
            met[node] = None
            following = [each for each, _ in node.next_functions if each is not None]
            (behind if node in ends else pending).extend(following)
    return list(met)


def structure_of(nodes: Iterable[Any]) -> int:
    """The same number for graphs that consist of the same kinds of nodes, met in the same order."""
    return hash(tuple(map(type, nodes)))


def make_up_of(nodes: Sequence[Any]) -> int:
    """The same number for graphs in which the same kinds of nodes follow on one another, with as many leaves.

    They have about as many nodes, within a power of two: an unrolled loop may run a few times more, or fewer.
    """
    kinds = {(type(node), _kinds_of(node.next_functions)) for node in nodes}
    leaves = sum(not node.next_functions for node in nodes)
    return hash((frozenset(kinds), leaves, len(nodes).bit_length()))


def _kinds_of(following: Sequence[tuple[Any, int]]) -> Sequence[type] | Set[type]:
    kinds = [type(node) for node, _ in following]
    return tuple(kinds) if len(kinds) <= _IN_ORDER else frozenset(kinds)
