"""What a value is the sum, the difference or a multiple of, and how each part counts in it."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf, prod
from typing import NamedTuple

from autograd_doctor.operations import JOINS, PRODUCTS, REARRANGEMENTS, SCALING
from autograd_doctor.tape import Op, Value


class Summand(NamedTuple):
    """A part of a sum. sign: 1 or -1 for which way it counts, 0 where that is not known.

    factor: what it is multiplied by, None where that is no number, or nobody has looked.
    """

    value: Value
    sign: int
    factor: float | None


def summands(op: Op) -> list[Summand] | None:
    """The parts of which a result is the sum, the difference or a multiple, those without a gradient among them; the
    elements that are summed up, averaged, chosen or moved are one part. None for any other operation."""
    if op.name in ("add", "sub"):
        return _added(op)
    if op.name == "lerp":
        return _mixed(op)
    if op.name in JOINS:
        return [_part(value, 1.0) for value in op.values]
    if op.name in REARRANGEMENTS:
        return [_part(value, -1.0 if op.name == "neg" else 1.0) for value in op.values[:1]]
    return _multiplied(op) if op.name in PRODUCTS else None


def parts_of(root: Value) -> Iterator[tuple[Value, int]]:
    """The values with a gradient of which one is the sum or a multiple, itself the first, each with its sign there: 0
    where that is not known."""
    met, pending = set[tuple[Value, int]](), [(root, 1)]
    while pending:
        value, sign = pending.pop()
        if (value, sign) in met:
            continue
        met.add((value, sign))
        yield value, sign
        parts = summands(value.by) if value.by is not None else None
        pending += [(part.value, sign * part.sign) for part in parts or () if part.value.learns]


def _part(value: Value, factor: float) -> Summand:
    return Summand(value, (factor > 0) - (factor < 0), factor)


def _added(op: Op) -> list[Summand] | None:
    """`add(a, b, alpha=2)` is a + 2 b; some write the 2 before b."""
    alpha = op.options.get("alpha", op.numbers[0] if len(op.values) == 2 and op.numbers else 1)
    if not isinstance(alpha, int | float):
        return None
    second = -alpha if op.name == "sub" else alpha
    sides = op.values if len(op.values) == 2 else op.operands
    return [_part(each, second if place else 1.0) for place, each in enumerate(sides) if isinstance(each, Value)]


def _mixed(op: Op) -> list[Summand] | None:
    weight = op.options.get("weight", op.numbers[0] if op.numbers else None)
    if len(op.values) != 2 or not isinstance(weight, int | float):
        return None
    return [_part(op.values[0], 1.0 - weight), _part(op.values[1], weight)]


def _multiplied(op: Op) -> list[Summand] | None:
    """Of a product, the one factor that learns or, where none does, that is no number."""
    parts = op.live or op.values
    if len(parts) != 1 or (op.name == "div" and op.operands[0] is not parts[0]):
        return None
    others = [(float(each), float(each)) for each in op.numbers]
    others += [each.span or (-inf, inf) for each in op.plain if each is not parts[0]]
    sign = prod((low >= 0) - (high <= 0) for low, high in others)
    is_known = op.name in SCALING and all(low == high for low, high in others)
    factor = prod(low for low, _ in others) if is_known else None
    if op.name == "div" and factor is not None:
        factor = 1 / factor if factor else None
    return [Summand(parts[0], sign, factor)]
