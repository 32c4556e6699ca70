"""How a program treats a dimension of size one: as one that happens to have one entry, or as none at all."""

from __future__ import annotations

from autograd_doctor.operations import DROPOUTS
from autograd_doctor.tape import Op, Value

_KEEPS = DROPOUTS | {"alias", "bfloat16", "clone", "contiguous", "cpu", "cuda", "double", "float", "half", "to"}
_STRETCHES = frozenset({"broadcast_to", "expand", "expand_as", "mul"})
_MATRICES = frozenset({"bmm", "matmul", "mm"})
_CHOOSE = frozenset({"amax", "amin", "gather", "kthvalue", "max", "min", "sort", "take_along_dim", "topk"})
_SLICES = frozenset({"__getitem__", "narrow"})
_VALUE_BY_VALUE = frozenset({"add", "div", "exp", "mul", "neg", "pow", "relu", "sigmoid", "softplus", "sub"})
_LONGEST_WAY = 32


def is_taken_for_none(value: Value, axis: int) -> bool:
    """Whether what comes of a value squeezes a dimension of size one away, stretches it over others, or sums over it
    where nothing else has it: that it is one was written down, and no number of keys or components made it so."""
    pending, met = [(value, axis)], set[Op]()
    while pending and len(met) < _LONGEST_WAY:
        value, axis = pending.pop()
        for op in value.uses:
            if op not in met and op.outputs:
                met.add(op)
                after = _after(op, value, axis)
                if after is True:
                    return True
                pending += [(op.output, after)] if after is not None else []
    return False


def is_one_of_several(value: Value, axis: int) -> bool:
    """Whether there were several numbers along a dimension, and the program chose one of them by their values."""
    at: int | None = axis
    for _ in range(_LONGEST_WAY):
        op = value.by
        if op is None or not op.values:
            return False
        source, rank = op.values[0], len(value.shape)
        if op.name in _CHOOSE and (at is None or len(source.shape) == rank):
            return source.count > value.count if at is None else source.shape[at] > 1
        if op.name == "unsqueeze" and op.dim is not None and at is not None:
            at = None if op.dim % rank == at else at - (op.dim % rank < at)
        elif not (op.name in _SLICES | _VALUE_BY_VALUE | _KEEPS and len(source.shape) == rank):
            return False
        value = source
    return False


def _after(op: Op, value: Value, axis: int) -> int | bool | None:
    """Where an operation has the dimension, True if it takes it for none, None where it is gone or not followed."""
    rank, made = len(value.shape), op.output.shape
    if op.name in _STRETCHES:
        at = axis + len(made) - rank
        return True if made[at] > 1 else at
    if op.name == "squeeze" and op.dim is not None:
        dim = op.dim % rank
        return True if dim == axis else axis - (dim < axis and value.shape[dim] == 1)
    if op.name == "unsqueeze" and op.dim is not None:
        return axis + (op.dim % (rank + 1) <= axis)
    if op.name in ("T", "mT", "t", "transpose"):
        return _turned(op, rank, axis)
    if op.name in _MATRICES:
        return _multiplied(op, value, axis)
    if op.name == "einsum":
        return _summed(op, value, axis)
    return axis if op.name in _KEEPS else None


def _turned(op: Op, rank: int, axis: int) -> int | None:
    """Two dimensions change places; those that the program did not name are the last two."""
    named = [op.options.get("dim0"), op.options.get("dim1")] if op.name == "transpose" else [-2, -1]
    dims = [each % rank for each in (*op.numbers, *named) if isinstance(each, int)]
    if len(dims) != 2 or rank < 2 or (op.name == "T" and rank > 2):
        return None
    return dims[1 - dims.index(axis)] if axis in dims else axis


def _multiplied(op: Op, value: Value, axis: int) -> int | None:
    """A product sums over the columns of its left side and the rows of its right one."""
    rank, made = len(value.shape), len(op.output.shape)
    if len(op.values) != 2 or min(len(each.shape) for each in op.values) < 2:
        return None
    summed = rank - 1 if op.values[0] is value else rank - 2
    return None if axis == summed else axis + made - rank


def _summed(op: Op, value: Value, axis: int) -> int | bool | None:
    equation = str(op.options.get("equation", "")).replace(" ", "")
    left, arrow, result = equation.partition("->")
    terms = left.split(",")
    if not arrow or "." in equation or len(terms) != len(op.values):
        return None
    place = op.values.index(value)
    letter = terms[place][axis]
    if letter in result:
        return result.index(letter)
    others = terms[:place] + terms[place + 1 :]
    return True if others and letter not in "".join(others) else None
