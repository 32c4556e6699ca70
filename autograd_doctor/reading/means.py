"""By how much the means of which a loss is the sum were divided, as the nodes of its graph tell."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch

from autograd_doctor.reading.graph_walk import node_name
from autograd_doctor.reading.tensor_facts import is_remote

Node = Any

_MEAN = 1
"""What loss functions of torch store for it."""
_MOST_TERMS = 16


class _Term(NamedTuple):
    """A mean, times a weight and over a divisor."""

    weight: float
    divisor: float


def divisor_of(root: Node) -> float:
    """1 for means as they are, more where all were divided, 0 for anything else, or where weights may have done that.

    Of several means the weights tell little: only where they come to less than 1, and nothing was divided, may they be
    an average. One mean with a weight may be a share of a larger mean.
    """
    node, _, divisor = _unscaled(root, {"DivBackward"})
    terms = list(_terms(node))
    if not terms or None in terms or len(terms) > _MOST_TERMS:
        return 0.0
    known = [term for term in terms if term is not None]
    weight = sum(term.weight for term in known)
    divisors = {divisor * term.divisor for term in known}
    is_weighted = weight != 1 if len(known) == 1 else weight < 1 and divisors == {1.0}
    return divisors.pop() if len(divisors) == 1 and not is_weighted else 0.0


def _terms(node: Node) -> Iterator[_Term | None]:
    """The means that are added up; None for what is none."""
    pending = [node]
    while pending:
        node = pending.pop()
        if node is not None and node_name(node) == "AddBackward" and getattr(node, "_saved_alpha", 1) == 1:
            pending += [following for following, _ in node.next_functions if following is not None]
            continue
        inner, weight, divisor = _unscaled(node, {"DivBackward", "MulBackward"})
        yield _Term(weight, divisor) if inner is not None and _is_mean(inner) else None


def _is_mean(node: Node) -> bool:
    return node_name(node) == "MeanBackward" or getattr(node, "_saved_reduction", 0) == _MEAN


def _unscaled(node: Node, names: set[str]) -> tuple[Node, float, float]:
    """What was multiplied and divided by numbers, and by which."""
    weight = divisor = 1.0
    while node is not None and node_name(node) in names:
        first, second = ([following for following, _ in node.next_functions] + [None])[:2]
        is_division = node_name(node) == "DivBackward"
        if None not in (first, second) or (is_division and second is not None):
            break
        number = _number(node, "_saved_other" if second is None else "_saved_self")
        if number is None:
            break
        weight, divisor = (weight, divisor * number) if is_division else (weight * number, divisor)
        node = first if second is None else second
    return node, weight, divisor


def _number(node: Node, kept: str) -> float | None:
    """What a node has kept of a side, if that is a single number, and at hand."""
    try:
        side = getattr(node, kept)
    except (AttributeError, RuntimeError):  # of another release, or freed
        return None
    if isinstance(side, torch.Tensor):
        return float(side) if side.dim() == 0 and not is_remote(side) else None
    return float(side) if isinstance(side, int | float) else None
