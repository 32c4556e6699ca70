"""Which way a loss drives the values that it is made of, as its tape tells."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.summands import summands
from autograd_doctor.tape import Op, Tape, Value

_GROWING = frozenset(
    {"clamp", "clamp_max", "clamp_min", "exp", "log", "log1p", "maximum", "relu", "sigmoid", "softplus", "sqrt", "tanh"}
)
"""Functions that do not fall when what they are given grows."""
_BOUNDS = {1: frozenset({"clamp_min", "maximum", "relu"}), -1: frozenset({"clamp_max", "minimum"})}
"""Those that end what is driven down, or up."""


def driven(tape: Tape) -> Iterator[tuple[Op, int]]:
    """The operations of which its losses are sums, multiples or growing functions, with the sign that these have: 1 for
    what is driven down, -1 for what is driven up, 0 where that is not known."""
    pending = [(root, 1) for root in tape.roots]
    met = set(pending)
    while pending:
        value, sign = pending.pop()
        if value.by is None:
            continue
        yield value.by, sign
        terms = {(term, sign * factor) for term, factor in _terms(value.by)} - met
        met |= terms
        pending += terms


def is_floored(value: Value, sign: int = 1) -> bool:
    """Whether each part that a gradient goes through, on the way down, ends at a bound that the program has set."""
    op = value.by
    if op is None:
        return False
    if _bounds(op, sign):
        return True
    terms = _terms(op)
    return len(terms) == len(op.live) > 0 and all(is_floored(term, sign * factor) for term, factor in terms)


def _bounds(op: Op, sign: int) -> bool:
    if op.name == "clamp" and sign:
        return len(op.operands) > 1 or op.options.get("min" if sign > 0 else "max") is not None
    return op.name in _BOUNDS.get(sign, ())


def _terms(op: Op) -> list[tuple[Value, int]]:
    """What a result is the sum or a multiple of, or grows with, each with the sign of its weight."""
    if op.name in _GROWING:
        return [(value, 1) for value in op.live[:1]]
    return [(part.value, part.sign) for part in summands(op) or () if part.value.learns]
