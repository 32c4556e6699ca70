"""What comes before what on the way from the data to the loss, and where two things meet."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

from torch.autograd.graph import Node

from autograd_doctor.reading.graph_walk import GraphWalk
from autograd_doctor.reading.provenance import Provenance

_Carried = tuple[bool, bool]
"""Whether something of the one is in a node, and something of the other."""
_TURNS = frozenset({"Expand", "Permute", "ReshapeAlias", "T", "ToCopy", "Transpose", "Unsqueeze", "View"})
"""Nodes through which a weight goes on its way into an operation."""
_CHOICES = frozenset({"Flip", "Gather", "Index", "IndexSelect", "Roll", "Select", "Slice", "Split"})
"""Those that choose some of the values, or put them in another order."""


def behind(walk: GraphWalk, leaves: Iterable[int], trained: Iterable[int]) -> set[int]:
    """Those of the leaf nodes that work on what was computed from trained ones, or together with them.

    leaves, trained: keys of leaf nodes in `walk`. A weight and the bias beside it work together.
    """
    carries = dict.fromkeys(walk.leaves, False) | dict.fromkeys(trained, True)
    for node in walk.forward_order:
        carries[id(node)] = any(carries.get(id(source), False) for source, _ in node.next_functions)
    return {leaf for leaf in leaves if any(_meets(walk, carries, leaf))}


def before(walk: GraphWalk, leaves: Iterable[int], trained: Iterable[int]) -> set[int]:
    """Those of the leaf nodes from which something was computed that a trained one works on.

    A path leads from such a leaf to the loss on which a trained leaf joins; one that stands beside all trained ones,
    and meets what they gave in the loss alone, is not among them.
    """
    joins = {consumer for leaf in trained for consumer in _worked_on_in(walk, leaf)}
    leads: dict[int, bool] = {}
    for node in reversed(walk.forward_order):
        consumers = walk.consumers.get(id(node), ())
        leads[id(node)] = id(node) in joins or any(leads.get(consumer, False) for consumer, _ in consumers)
    return {leaf for leaf in leaves if any(leads.get(consumer) for consumer, _ in walk.consumers.get(leaf, ()))}


def first_meetings(walk: GraphWalk, one: Provenance, other: Provenance) -> list[Node]:
    """The nodes that work on what two operations made, and on nothing that was already made of both."""
    return [
        node for node, carried, sources in _carried(walk, one, other) if all(carried) and not any(map(all, sources))
    ]


def meet_in_company(walk: GraphWalk, one: Provenance, other: Provenance) -> bool:
    """Whether what two operations made has met something else by then, each of both, wherever the two meet."""
    company: dict[int, _Carried] = {}
    meetings: list[bool] = []
    for node, carried, sources in _carried(walk, one, other):
        before = [company.get(id(source), (False, False)) for source, _ in node.next_functions]
        met = any(first for first, _ in before), any(last for _, last in before)
        if all(carried) and not any(map(all, sources)):
            meetings.append(all(met))
        strangers = (each for each, of in zip(node.next_functions, sources, strict=True) if not any(of))
        is_behind = walk.made[id(node)] is not one and walk.made[id(node)] is not other
        meets = is_behind and any(_is_company(walk, *each) for each in strangers)
        company[id(node)] = met[0] or (meets and carried[0]), met[1] or (meets and carried[1])
    return bool(meetings) and all(meetings)


def values_of(node: Any, output: int) -> int:
    """How many an operation made; 1 where its node does not tell, as in an older torch."""
    told = getattr(node, "_input_metadata", ())
    return math.prod(told[output].shape) if output < len(told) else 1


def are_treated_alike(walk: GraphWalk, one: Provenance, other: Provenance) -> bool:
    """Whether the same leaves, if any, work on what two operations made until that meets, and the same is chosen of
    both."""
    treated: dict[_Carried, set[int | str]] = {(True, False): set(), (False, True): set()}
    for node, carried, sources in _carried(walk, one, other):
        if carried in treated and any(map(any, sources)):
            treated[carried] |= {id(source) for source, _ in node.next_functions if id(source) in walk.leaves}
            treated[carried] |= {node.name().partition("Backward")[0]} & _CHOICES
    return treated[True, False] == treated[False, True]


def _carried(walk: GraphWalk, one: Provenance, other: Provenance) -> Iterator[tuple[Node, _Carried, list[_Carried]]]:
    """Of each node, whether something of what two operations made is in it, and in each of those that it works on."""
    carries: dict[int, _Carried] = {}
    for node in walk.forward_order:
        made = walk.made.get(id(node))
        sources = [carries.get(id(source), (False, False)) for source, _ in node.next_functions]
        carried = made is one or any(first for first, _ in sources), made is other or any(last for _, last in sources)
        carries[id(node)] = carried
        yield node, carried, sources


def _is_company(walk: GraphWalk, node: Any, output: int) -> bool:
    """Whether values come from there that are neither a weight, turned or not, nor a single number."""
    if node is None or values_of(node, output) == 1:
        return False
    while id(node) not in walk.leaves and node.name().partition("Backward")[0] in _TURNS:
        node = node.next_functions[0][0]
    return id(node) not in walk.leaves


def _worked_on_in(walk: GraphWalk, leaf: int) -> Iterator[int]:
    """The operations on a leaf and something else, data included; before them it was transposed, cast or expanded."""
    pending = [leaf]
    while pending:
        for consumer, _ in walk.consumers.get(pending.pop(), ()):
            if len(walk.nodes[consumer].next_functions) > 1:
                yield consumer
            else:
                pending.append(consumer)


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
