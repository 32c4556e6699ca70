"""The signs of factors, and the operations that change those of what they are given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from autograd_doctor.reading.tensor_facts import readable

NEGATIONS = frozenset({"__neg__", "neg", "neg_", "negative", "negative_"})
REVERSED = frozenset({"rsub", "__rsub__"})
"""Differences that begin with their second operand."""
DIVISIONS = frozenset({"__itruediv__", "div", "div_", "divide", "true_divide"})


_PRODUCTS = frozenset({"__imul__", "mul", "mul_", "multiply", "multiply_"})
_POWERS = frozenset({"__ipow__", "__pow__", "pow", "pow_"})
_SQUARES = frozenset({"square", "square_"})


def is_square(name: str, args: Sequence[Any]) -> bool:
    """Whether an operation squares its first argument: by name, as a power of two, or times itself."""
    if name not in _PRODUCTS | _POWERS or len(args) < 2:
        return name in _SQUARES
    is_two = isinstance(args[1], int | float) and args[1] == 2
    return is_two if name in _POWERS else args[1] is args[0]


def sign_of(factor: Any) -> int:
    """1 or -1 where a number or a tensor has that sign all over, 0 where it has not, or cannot be read."""
    if not isinstance(factor, torch.Tensor):
        return int(factor > 0) - int(factor < 0)
    if factor.is_complex() or not (readable(factor) and factor.numel()):
        return 0
    low, high = (bool(edge) for edge in ((factor >= 0).all(), (factor <= 0).all()))
    return low - high
