"""Calls of torch that work on lists of tensors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

PREFIX = "_foreach_"


def one_by_one(args: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
    """The arguments of each call that a fused one stands for: `_foreach_mul_([a, b], 0.9)` is `a.mul_(0.9)`, and b."""
    for position in range(len(args[0])):
        yield tuple(each[position] if isinstance(each, list | tuple) else each for each in args)
