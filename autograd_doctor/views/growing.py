"""Losses that are differences of distances: what is learned lies on both sides of each, and all grow with its scale."""

from __future__ import annotations

from itertools import islice

from autograd_doctor.operations import CONVOLUTIONS, DROPOUTS, NORMS
from autograd_doctor.summands import parts_of, summands
from autograd_doctor.tape import Op, Value

_LAYERS = frozenset({*CONVOLUTIONS, "addmm", "embedding", "linear", "matmul", "mm"})
_KEEPS_SCALE = DROPOUTS | {"leaky_relu", "relu"}
_BETWEEN_TWO = frozenset({"cdist", "pairwise_distance"})
_MOST_TERMS = 64


def is_difference_of_distances(root: Value) -> bool:
    """Whether a loss is a sum of distances of one degree, of which some count against the others, and of numbers.

    Where such a sum is below its numbers, it falls for ever with the scale of what it is computed from.
    """
    terms = _terms(root)
    signs, degrees = {sign for _, sign in terms}, {_degree(term) for term, _ in terms}
    return signs == {1, -1} and len(degrees) == 1 and 0 not in degrees


def _terms(value: Value) -> list[tuple[Value, int]]:
    """The parts with a gradient of which a value is the sum and that are no sums, each with its sign there; none where
    it is a long one."""
    parts = list(islice(parts_of(value), _MOST_TERMS + 1))
    if len(parts) > _MOST_TERMS:
        return []
    return [(part, sign) for part, sign in parts if part.by is None or summands(part.by) is None]


def _degree(term: Value) -> int:
    """With which power of the scale of what is learned a distance grows, 0 for what is none, or has none."""
    op = term.by
    if op is None:
        return 0
    if op.name in _BETWEEN_TWO:
        return int(all(map(_grows, op.values[:2])))
    if op.name in NORMS or op.name == "abs":
        return int(_is_gap(op.values[0]))
    if op.is_square:
        return 2 * _is_gap(op.values[0])
    return int(op.name == "sqrt" and {_degree(part) for part, _ in _terms(op.values[0])} == {2})


def _is_gap(value: Value) -> bool:
    return (
        value.by is not None and value.by.name == "sub" and len(value.by.live) == 2 and all(map(_grows, value.by.live))
    )


def _grows(value: Value) -> bool:
    """Whether nothing holds the scale of a value: it is a parameter, or what a layer gives, or a sum of such."""
    pending, left = [value], _MOST_TERMS
    while pending:
        value, left = pending.pop(), left - 1
        op = value.by
        if value.is_parameter:
            continue
        if op is None or not value.learns or left < 0:
            return False
        if not _is_free_layer(op):
            parts = op.live if op.name in _KEEPS_SCALE else [part.value for part in summands(op) or ()]
            if not parts:
                return False
            pending += parts
    return True


def _is_free_layer(op: Op) -> bool:
    is_layer = op.name in _LAYERS and any(value.is_parameter for value in op.values)
    return is_layer and op.options.get("max_norm") is None
