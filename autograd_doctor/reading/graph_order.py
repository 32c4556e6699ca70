"""Which leaves of a graph come before others on the way from the data to the loss."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from autograd_doctor.reading.graph_walk import GraphWalk


def behind(walk: GraphWalk, leaves: Iterable[int], trained: Iterable[int]) -> set[int]:
    """Those of the leaf nodes that work on what was computed from trained ones, or together with them.

    leaves, trained: keys of leaf nodes in `walk`. A weight and the bias beside it work together.
    """
    carries = dict.fromkeys(walk.leaves, False) | dict.fromkeys(trained, True)
    for node in walk.forward_order:
        carries[id(node)] = any(carries.get(id(source), False) for source, _ in node.next_functions)
    return {leaf for leaf in leaves if any(_meets(walk, carries, leaf))}


def _meets(walk: GraphWalk, carries: dict[int, bool], leaf: int) -> Iterable[bool]:
    """Whether something else that flows into the operations on a leaf carries what is trained."""
    pending = [leaf]
    while pending:
        current = pending.pop()
        for consumer, _ in walk.consumers.get(current, ()):
            sources: list[Any] = [source for source, _ in walk.nodes[consumer].next_functions if source is not None]
            others = [id(source) for source in sources if id(source) != current]
            if others:
                yield any(carries.get(other, False) for other in others)
            else:  # it was transposed, cast or expanded only
                pending.append(consumer)
