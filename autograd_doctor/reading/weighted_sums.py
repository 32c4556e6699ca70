"""What a value is a weighted sum of, where the weights are plain numbers."""

from __future__ import annotations

from autograd_doctor.tape import Op, Value

_SAME = frozenset(
    {"alias", "bfloat16", "clone", "contiguous", "copy", "cpu", "data", "detach", "double", "float", "half", "to"}
)
"""What leaves all values where they are: of `copy_`, those that are copied."""
_MOST_PARTS = 32


def weights_in(value: Value) -> dict[Value, float]:
    """Each value that nothing is known of, or that is no weighted sum itself, with its weight in this one."""
    found: dict[Value, float] = {}
    pending, parts = [(value, 1.0)], 0
    while pending:
        part, weight = pending.pop()
        inner = _parts(part.by) if part.by is not None and parts < _MOST_PARTS else None
        if inner is None:
            found[part] = found.get(part, 0.0) + weight
        else:
            parts += len(inner)
            pending += [(each, weight * factor) for each, factor in inner]
    return found


def value_before(op: Op) -> Value:
    """What there was before this step first wrote to what an operation writes to, or as far back as sums are followed:
    weights that are moved about by hand are written to again and again."""
    value = op.values[0]
    for _ in range(_MOST_PARTS):
        made = value.by
        if made is None or not (made.in_place or made.name in ("data", "detach")) or not made.values:
            break
        value = made.values[0]
    return value


def _parts(op: Op) -> list[tuple[Value, float]] | None:
    """The operands of a sum, a difference, a multiple or a copy, with their weights."""
    values, numbers = op.values, op.numbers
    if op.name in _SAME and values:
        return [(values[-1] if op.name == "copy" else values[0], 1.0)]
    if len(values) == 2 and op.name in ("add", "sub", "lerp"):
        return _of_two(op, values, numbers)
    if len(values) == len(numbers) == 1 and op.operands[0] is values[0]:
        factors = {"mul": numbers[0], "div": 1 / numbers[0] if numbers[0] else None}
        factor = factors.get(op.name)
        return None if factor is None else [(values[0], factor)]
    if len(values) == len(numbers) == 1 and op.name == "mul":
        return [(values[0], numbers[0])]
    return [(values[0], -1.0)] if op.name == "neg" and values else None


def _of_two(op: Op, values: list[Value], numbers: list[float]) -> list[tuple[Value, float]] | None:
    if values[0].shape != values[1].shape:
        return None
    if op.name == "lerp":
        weight = numbers[0] if numbers else op.options.get("weight")
        return [(values[0], 1.0 - weight), (values[1], weight)] if isinstance(weight, int | float) else None
    alpha = numbers[0] if numbers else op.options.get("alpha", 1)
    if not isinstance(alpha, int | float):
        return None
    return [(values[0], 1.0), (values[1], alpha if op.name == "add" else -alpha)]
