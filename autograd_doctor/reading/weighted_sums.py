"""What a value is a weighted sum of, where the weights are plain numbers."""

from __future__ import annotations

from autograd_doctor.summands import summands
from autograd_doctor.tape import Op, Value

_SAME = frozenset(
    {"alias", "bfloat16", "clone", "contiguous", "copy", "cpu", "data", "detach", "double", "float", "half", "to"}
)
"""What leaves all values where they are: of `copy_`, those that are copied."""
_OPERANDS = {"add": 2, "div": 1, "lerp": 2, "mul": 1, "neg": 1, "sub": 2}
"""Of whole values, which are not shifted by numbers."""
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
    same = _copied_by(op)
    if same is not None:
        return [(same, 1.0)]
    is_linear = len(op.values) == _OPERANDS.get(op.name)
    parts = [part for part in (summands(op) if is_linear else None) or () if part.value.shape == op.output.shape]
    weights = [(part.value, part.factor) for part in parts if part.factor is not None]
    return weights if weights and len(weights) == len(op.values) else None


def copied(value: Value) -> Value:
    """What a value is a copy of, however often it was copied and cast."""
    while value.by is not None and (same := _copied_by(value.by)) is not None:
        value = same
    return value


def _copied_by(op: Op) -> Value | None:
    """The operand that holds all values of the result."""
    return op.values[-1 if op.name == "copy" else 0] if op.name in _SAME and op.values else None
