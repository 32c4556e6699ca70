"""Which dimensions of its factors a product of matrices sums up, and which it goes through side by side, as it does
through a batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from autograd_doctor.reading.tensors_in import tensors_in
from autograd_doctor.tape import Op

PRODUCTS_OF_MATRICES = frozenset({"__matmul__", "bmm", "einsum", "matmul"})
_BY_ROWS = frozenset({"inner", "linear"})
"""Products of the rows of both factors; in others the rows of the first meet the columns of the second."""


class Subscripts(NamedTuple):
    """Letters of both operands of an `einsum`, and of its result."""

    first: str
    second: str
    result: str


def subscripts(op: Op) -> Subscripts | None:
    """Those that name each axis, once in each operand, and the result."""
    equation = str(op.options.get("equation", "")).replace(" ", "")
    given, arrow, result = equation.partition("->")
    first, comma, second = given.partition(",")
    terms = first, second, result
    named = all(term.isalpha() and len({*term}) == len(term) for term in terms)
    return Subscripts(*terms) if arrow and comma and named else None


def summed_up(op: Op) -> tuple[int, int] | None:
    """The one dimension of each of two factors that a product sums up, counted from the end; None if there are more."""
    if op.name != "einsum":
        return -1, -1 if op.name in _BY_ROWS else -2
    letters = subscripts(op)
    summed = {*letters.first, *letters.second} - {*letters.result} if letters is not None else set[str]()
    if letters is None or len(summed) != 1 or not summed <= {*letters.first} & {*letters.second}:
        return None
    (letter,) = summed
    return letters.first.index(letter) - len(letters.first), letters.second.index(letter) - len(letters.second)


def side_by_side(name: str, args: Sequence[Any]) -> list[tuple[torch.Tensor, list[int]]]:
    """Each of two factors with its dimensions that the other one and the result have as well; empty if unknown.

    Nothing is summed up over these: what is in one slice never meets what is in another.
    """
    factors = tensors_in(args)
    if len(factors) != 2:
        return []
    if name == "einsum":
        return _of_equation(args[0], factors)
    dims = factors[0].dim()
    if dims != factors[1].dim() or dims < 3:
        return []
    shared = [dim for dim in range(dims - 2) if factors[0].shape[dim] == factors[1].shape[dim]]
    return [(factor, shared) for factor in factors]


def _of_equation(equation: Any, factors: list[torch.Tensor]) -> list[tuple[torch.Tensor, list[int]]]:
    """As `torch.einsum` takes it, "bhij,bhjd->bhid": without an ellipsis, with a right side, and with a sum."""
    if not isinstance(equation, str) or "->" not in equation or "." in equation:
        return []
    left, _, result = equation.replace(" ", "").partition("->")
    names = left.split(",")
    if len(names) != 2 or set(names[0]) & set(names[1]) <= set(result):
        return []
    shared = set(names[0]) & set(names[1]) & set(result)
    return [
        (factor, [dim for dim, letter in enumerate(letters) if letter in shared])
        for factor, letters in zip(factors, names, strict=True)
    ]
