"""The structure of a graph as a number, at the cost of one visit to each node."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

MOST_NODES = 50_000
"""Of one graph, about ten times those of the largest models that people train on one machine: a visit to each takes a
microsecond, so that even a graph that grew over many steps holds nobody up."""


def nodes_of(roots: Iterable[torch.Tensor]) -> list[Any]:
    """The nodes of a graph in the order in which they are met; graphs of the same structure have the same order."""
    return _met([root.grad_fn for root in roots if root.grad_fn is not None])


def nodes_below(node: Any) -> list[Any]:
    """Those that a gradient of a node flows into, without itself."""
    return _met([following for following, _ in node.next_functions if following is not None])


def _met(pending: list[Any]) -> list[Any]:
    met: dict[Any, None] = {}
    while pending and len(met) < MOST_NODES:
        node = pending.pop()
        if node not in met:
            met[node] = None
            pending.extend([following for following, _ in node.next_functions if following is not None])
    return list(met)


def structure_of(nodes: Iterable[Any]) -> int:
    """The same number for graphs that consist of the same kinds of nodes, met in the same order."""
    return hash(tuple(map(type, nodes)))
