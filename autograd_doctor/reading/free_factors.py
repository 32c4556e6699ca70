"""Small parameters that a loss has only as factors of what other parameters make, so that nothing holds them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import torch

from autograd_doctor.reading.graph_structure import nodes_below
from autograd_doctor.reading.graph_walk import GraphWalk, Node, operation_of
from autograd_doctor.reading.places import Place
from autograd_doctor.reading.provenance import leaf_of
from autograd_doctor.reading.tensor_facts import readable

_SUMS = frozenset({"Add", "Cat", "Mean", "Neg", "Squeeze", "Stack", "Sub", "Sum", "Unsqueeze", "View"})
"""Behind these a loss is the sum of its terms, as it is behind a product with plain data."""
_PRODUCTS = frozenset({"Div", "Dot", "Mul"})
_KEPT = {
    "Div": ("_saved_self", "_saved_other"),
    "Dot": ("_saved_self", "_saved_tensor"),
    "Mul": ("_saved_self", "_saved_other"),
}
"""Where the node of a product keeps what was multiplied."""
_CURVES = frozenset({
    "Abs", "Div", "Exp", "Expand", "Index", "Mul", "Neg", "Pow", "Reciprocal", "Relu", "Rsqrt", "Select", "Sigmoid",
    "Slice", "Softplus", "Split", "Sqrt", "Squeeze", "Unbind", "Unsqueeze", "View",
})  # fmt: skip
"""Of one value at a time, each rising or falling throughout, as far as to zero: not past a limit that a clamp or a
summand sets, and not as a softmax does, or one minus a share, where what one factor loses another gains."""
_MOST_VALUES = 16
"""Of a parameter that weighs the terms of a loss: there are a few of these."""
_LONGEST = 16
_MOST_NODES, _MOST_PRODUCTS = 1000, 32


@dataclass
class FreeFactor:
    """A parameter of which factors are made, the line of the first product with one, and how large they all are."""

    parameter: torch.Tensor
    place: Place | None
    sizes: list[float] = field(default_factory=list)


def free_factors(walk: GraphWalk, root: torch.Tensor) -> list[FreeFactor]:
    """Parameters on which a loss depends by factors of its terms, and by nothing else, each with one of these."""
    found: dict[int, FreeFactor] = {}
    inside: set[int] = set()
    products: set[int] = set()
    summed: set[int] = set()
    for product, chain in list(_factors_of(root, summed)):
        leaf = walk.leaves.get(id(chain[-1]))
        if leaf is not None and _is_only_summed(walk, product, summed):
            made = walk.made.get(id(product))
            factor = found.setdefault(id(chain[-1]), FreeFactor(leaf, made.place if made is not None else None))
            factor.sizes += _sizes(product, chain[0])
            inside.update(map(id, chain))
            products.add(id(product))
    held = {key for key in inside if any(user not in inside | products for user, _ in walk.consumers.get(key, ()))}
    return [factor for key, factor in found.items() if held.isdisjoint(_users_of(walk, key, inside))]


def _is_only_summed(walk: GraphWalk, product: Node, summed: set[int]) -> bool:
    """Whether nothing else of the loss is made of a product: a prediction that is scaled, of which a loss has the
    exponential as well as the value, is no term."""
    pending = [id(product)]
    while pending:
        users = [user for user, _ in walk.consumers.get(pending.pop(), ())]
        if not summed.issuperset(users):
            return False
        pending += users
    return True


def _users_of(walk: GraphWalk, key: int, inside: set[int]) -> set[int]:
    """The nodes of factors that are computed from a leaf, and the leaf itself."""
    met, pending = set[int](), [key]
    while pending:
        node = pending.pop()
        if node in inside and node not in met:
            met.add(node)
            pending += [user for user, _ in walk.consumers.get(node, ())]
    return met


def _sizes(product: Node, side: Node) -> list[float]:
    """By how much the values of one side make the other larger; none where the product has not kept them."""
    position = [source for source, _ in product.next_functions].index(side)
    kept = _KEPT[operation_of(product)][position]
    try:
        values: torch.Tensor = getattr(product, kept).detach().reshape(-1).abs()
    except (AttributeError, RuntimeError):  # of another release, or changed in place
        return []
    if values.numel() > _MOST_VALUES or not readable(values):
        return []
    is_below = operation_of(product) == "Div" and position == 1
    sizes: list[float] = (values.reciprocal() if is_below else values).tolist()
    return sizes


def _factors_of(root: torch.Tensor, summed: set[int]) -> Iterator[tuple[Node, list[Node]]]:
    """Products that a loss is a sum of, each with its side that is made of one small leaf, down to this.

    summed: becomes the nodes through which they are added up.
    """
    products = 0
    pending, met = [root.grad_fn], set[int]()
    while pending and len(met) < _MOST_NODES and products < _MOST_PRODUCTS:
        node = pending.pop()
        if node is None or id(node) in met:
            continue
        met.add(id(node))
        sources = [source for source, _ in node.next_functions if source is not None]
        if operation_of(node) in _PRODUCTS and len(sources) == 2:
            products += 1
            chains = [_chain(source) for source in sources]
            for chain, other in zip(chains, reversed(sources), strict=True):
                if chain and not (chains[0] and chains[1]) and chain[-1] not in nodes_below(other):
                    yield node, chain
        elif operation_of(node) in _SUMS | _PRODUCTS:
            summed.add(id(node))
            pending += sources


def _chain(node: Node) -> list[Node]:
    """The nodes from a factor down to the small leaf that it is made of; none where it is not made so."""
    chain = [node]
    while len(chain) < _LONGEST and operation_of(chain[-1]) in _CURVES:
        sources = [source for source, _ in chain[-1].next_functions if source is not None]
        if len(sources) != 1:
            return []
        chain += sources
    leaf = leaf_of(chain[-1])
    return chain if leaf is not None and leaf.numel() <= _MOST_VALUES else []
