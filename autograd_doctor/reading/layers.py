"""The longest way of a gradient through layers, and how large the gradient is at each of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from autograd_doctor.reading.graph_walk import GraphWalk
from autograd_doctor.reading.places import Place
from autograd_doctor.reading.provenance import leaf_of

Node = Any
_MOST_TIMES = 32
"""Gradients to keep of a layer that is applied again and again, spread evenly from the first to the last."""
_HOPS = 4
"""Nodes between a weight and the operation that applies it: it may be transposed, cast or expanded on the way."""


@dataclass
class LayerOnWay:
    """An operation on matrices of weights.

    gradients: 2-norms at its output, one for each time that it was applied, the one nearest to the loss first.
    """

    weights: tuple[torch.Tensor, ...]
    place: Place | None
    operation: str
    gradients: list[float] = field(default_factory=list)

    def some_gradients(self) -> list[float]:
        stride = (len(self.gradients) - 1) / (_MOST_TIMES - 1)
        if stride <= 1:
            return self.gradients
        return [self.gradients[round(position * stride)] for position in range(_MOST_TIMES)]


def longest_way(walk: GraphWalk, magnitudes: Mapping[int, Sequence[float]]) -> list[LayerOnWay]:
    """The layers on the way from the roots that passes most of them, nearest to the loss first.

    magnitudes: 2-norms of the gradients that each node, by its key, passed on to the nodes before it.
    """
    inner = walk.forward_order
    weights = {id(node): matrices for node in inner if (matrices := weights_of(node))}
    length: dict[int, int] = {}
    source: dict[int, int] = {}
    for node in inner:  # the forward made what a node takes in before it
        before = max((id(each) for each, _ in node.next_functions), key=lambda each: length.get(each, -1), default=0)
        if before in length:
            source[id(node)] = before
        length[id(node)] = length.get(before, 0) + (id(node) in weights)
    way: dict[tuple[tuple[int, ...], Place | None], LayerOnWay] = {}
    current = max(length, key=lambda each: length[each], default=None)
    while current is not None:
        if current in weights:
            made = walk.made.get(current)
            where, operation = (made.place, made.operation) if made is not None else (None, "")
            key = tuple(map(id, weights[current])), where
            layer = way.setdefault(key, LayerOnWay(weights[current], where, operation))
            layer.gradients.append(_arriving(walk, magnitudes, current))
        current = source.get(current)
    return list(way.values())


def before_layers(walk: GraphWalk) -> frozenset[int]:
    """The keys of the nodes whose outputs flow into a layer, at once or through others."""
    found: set[int] = set()
    for node in reversed(walk.forward_order):  # the forward took what a node gives out after it
        if id(node) in found or weights_of(node):
            found.update(id(source) for source, _ in node.next_functions if source is not None)
    return frozenset(found)


def weights_of(node: Node) -> tuple[torch.Tensor, ...]:
    """The matrices of weights that an operation applies to something else."""
    if len(node.next_functions) < 2:  # it transposes or casts one
        return ()
    leaves = (_leaf_behind(following) for following, _ in node.next_functions)
    return tuple(leaf for leaf in leaves if leaf is not None and leaf.dim() > 1)


def _leaf_behind(node: Node | None) -> torch.Tensor | None:
    """The leaf that comes to this node through operations on it alone."""
    for _ in range(_HOPS):
        if node is None or leaf_of(node) is not None:
            break
        node = node.next_functions[0][0] if len(node.next_functions) == 1 else None
    return None if node is None else leaf_of(node)


def _arriving(walk: GraphWalk, magnitudes: Mapping[int, Sequence[float]], key: int) -> float:
    """The norm of the gradient at the output of a node, as if those of several consumers were independent."""
    edges = [(magnitudes.get(consumer, ()), position) for consumer, position in walk.consumers.get(key, ())]
    return math.hypot(*(passed_on[position] for passed_on, position in edges if position < len(passed_on)))
