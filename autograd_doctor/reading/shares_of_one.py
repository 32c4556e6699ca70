"""Where gradients end in a graph because a single number is made a share of itself: it is one whatever the number is.

A softmax over a dimension of size one is such a place, however it is written, and attention to a single key.
"""

from __future__ import annotations

from math import prod
from typing import Any

from torch.autograd.function import BackwardCFunction

from autograd_doctor.reading.graph_walk import GraphWalk, Way, operation_of

Node = Any
_SOFTMAXES = frozenset({"LogSoftmax", "SafeSoftmax", "Softmax"})
_TOTALS = {"Div": "Sum", "Sub": "Logsumexp"}
"""What an operation takes from what it divides or subtracts, where it makes shares of it, or their logarithms."""
_ATTENTION = "ScaledDotProduct"
_VIEWS = frozenset({"Expand", "Squeeze", "UnsafeView", "Unsqueeze", "View"})
_UNSIGNED = 2**63
"""torch hands out negative dimensions that a node saved as 64-bit numbers without a sign."""


def leaves_behind_shares(walk: GraphWalk) -> set[int]:
    """Keys of the leaf nodes that nothing but such places lead to."""
    closed = closed_ways(walk)
    return walk.leaves.keys() - walk.leaves_around(closed=closed) if closed else set()


def closed_ways(walk: GraphWalk) -> set[Way]:
    """The ways from nodes to their operands on which no gradient ever passes for that reason.

    An older torch has nodes that do not tell the shape of what they made: it has none.
    """
    inner = ((key, node) for key, node in walk.nodes.items() if key not in walk.leaves)
    return {(key, position) for key, node in inner for position in range(_closed(node))}


def _closed(node: Node) -> int:
    """How many of the first operands of a node get no gradient from it."""
    if isinstance(node, BackwardCFunction):
        return 0
    operation = operation_of(node)
    if operation in _SOFTMAXES:
        return int(_size(_shape(node), node._saved_dim) == 1)
    if operation in _TOTALS:
        return 2 * _takes_its_own(node, _TOTALS[operation])
    return 2 * (operation.startswith(_ATTENTION) and _has_one_key(node))


def _takes_its_own(node: Node, total: str) -> bool:
    """Whether the second operand is the total of the first over one number."""
    (given, taken), (whole, _) = (*node.next_functions, (None, 0), (None, 0))[:2]
    while whole is not None and operation_of(whole) in _VIEWS:
        whole = whole.next_functions[0][0]
    if given is None or whole is None or operation_of(whole) != total or whole.next_functions[0] != (given, taken):
        return False
    shape = _shape(given, taken)
    dims = getattr(whole, "_saved_dim", range(len(shape or ())))
    return shape is not None and prod(_size(shape, dim) for dim in dims) == 1


def _has_one_key(node: Node) -> bool:
    """Whether keys or values, whichever are learned, are there for one position alone."""
    shapes = [_shape(*source) for source in node.next_functions[1:3]]
    return any(_size(shape, -2) == 1 for shape in shapes)


def _shape(node: Node, output: int = 0) -> tuple[int, ...] | None:
    told = getattr(node, "_input_metadata", ())
    return tuple(told[output].shape) if output < len(told) else None


def _size(shape: tuple[int, ...] | None, dim: int) -> int:
    """0 where it is not known."""
    dim = dim - 2 * _UNSIGNED if dim >= _UNSIGNED else dim
    return shape[dim] if shape is not None and -len(shape) <= dim < len(shape) else 0
