"""Whether an operation combined two tensors of as many values, in different shapes, into all pairs of these."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from autograd_doctor.operations import ADDING, BY_ELEMENT, DRAWS, EQUALITIES, NEGATIONS, SCALING
from autograd_doctor.reading.operation_kinds import FROM_DATA
from autograd_doctor.reading.provenance import address
from autograd_doctor.tape import Value, behind, is_made_of_parameters

_ARITHMETIC = frozenset({
    "__radd__", "__rdiv__", "__rmul__", "__rpow__", "__rsub__", "__rtruediv__", "add", "arctan2", "atan2", "copysign",
    "fmax", "fmin", "hypot", "logaddexp", "max", "maximum", "min", "minimum", "pow", "rsub", "sub", "subtract",
    "true_divide", "xlogy",
}) | SCALING  # fmt: skip
COMBINES = EQUALITIES | BY_ELEMENT | _ARITHMETIC
"""Operations that take two tensors in element by element."""
_CURVES = frozenset({
    "abs", "clamp", "clamp_max", "clamp_min", "clip", "cos", "cosh", "elu", "erf", "exp", "expm1", "ge", "gt", "le",
    "leaky_relu", "log", "log10", "log1p", "log2", "lt", "nan_to_num", "neg", "negative", "pow", "reciprocal", "relu",
    "rsqrt", "sigmoid", "sin", "sinh", "sqrt", "square", "tanh",
})  # fmt: skip
ELEMENTWISE = COMBINES | _CURVES | {f"{name}_" for name in _CURVES} | {
    "__abs__", "__ipow__", "__neg__", "__pow__", "log_sigmoid", "softplus", "where",
}  # fmt: skip
"""Operations that work on each value by itself."""
AVERAGES = frozenset({"mean", "nanmean"})
SMALLEST_OR_LARGEST = frozenset({"max", "min"})
"""Of two tensors value by value; of one tensor, a single one of its values."""
REDUCTIONS = frozenset(
    {"count_nonzero", "linalg_norm", "linalg_vector_norm", "mean", "nanmean", "nansum", "norm", "sum"}
)


def are_paired(left: torch.Tensor, right: torch.Tensor, *, in_loss: bool = False) -> bool:
    """Whether two tensors hold as many values, in the same order of dimensions, and broadcasting makes more of them.

    One has dimensions of size one that the other lacks, as a column has beside a row of numbers. Two of as many
    dimensions were put across each other by somebody, if not by a loss function that got a column and a row. A tensor
    beside a view of itself is compared with itself.
    """
    are_across = left.dim() == right.dim() and not (in_loss and left.dim() == 2)
    if are_across or left.numel() != right.numel() or left.numel() < 2:
        return False
    if _without_ones(left.shape) != _without_ones(right.shape):
        return False
    if address(left) and address(left) == address(right):
        return False
    return paired_count(left.shape, right.shape) > left.numel()


def is_of_no_sample(value: Value, other: Value) -> bool:
    """Whether a value was made of parameters alone, or of numbers that were drawn for it as well, such as the levels of
    quantiles, of which the other one knows nothing."""
    if is_made_of_parameters(value):
        return True
    made, beside = behind([value], live=False), behind([other], live=False)
    begins = [each for op in made for each in op.values if each.by is None]
    drawn = {op for op in made if op.name in DRAWS and not op.values}
    if not drawn or any(each.count > 1 and not each.is_parameter for each in begins):
        return False
    return bool(beside) and drawn.isdisjoint(beside) and not any(op.name in FROM_DATA for op in beside)


def is_across_itself(left: torch.Tensor, right: torch.Tensor) -> bool:
    """Whether the values of one tensor meet each other, each with all."""
    same = bool(address(left)) and address(left) == address(right) and left.numel() == right.numel()
    return same and paired_count(left.shape, right.shape) > left.numel()


def stays_even(name: str, even: list[bool], others: list[torch.Tensor]) -> bool:
    """Whether an operation gives sums of a part that belongs to the row and one that belongs to the column.

    even: whether its inputs that hold pairs are such sums. Their average is that of the parts, each counted once.
    """
    if not all(even):
        return False
    if name in SCALING:
        return len(even) == 1 and all(other.numel() == 1 for other in others)
    return name in ADDING or name in NEGATIONS


def _without_ones(shape: Sequence[int]) -> list[int]:
    return [size for size in shape if size != 1]


def paired_shape(left: Sequence[int], right: Sequence[int]) -> list[int]:
    """The shape to which two shapes broadcast, empty if they do not."""
    length = max(len(left), len(right))
    sizes = zip([1] * (length - len(left)) + list(left), [1] * (length - len(right)) + list(right), strict=True)
    found = []
    for one, other in sizes:
        if one != other and 1 not in (one, other):
            return []
        found.append(other if one == 1 else one)
    return found


def paired_count(left: Sequence[int], right: Sequence[int]) -> int:
    count = 1
    shape = paired_shape(left, right)
    for size in shape:
        count *= size
    return count if shape else 0
