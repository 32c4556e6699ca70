"""Operations in which a loss stays a sum of the same terms: sums themselves, and all that only weighs or moves them."""

from __future__ import annotations

import math
from collections.abc import Iterator

JOINS = frozenset({"stack", "cat", "concat", "concatenate", "hstack", "vstack"})
"""Operations that put terms one beside the other, for a sum to come."""
DIFFERENCES = frozenset({"sub", "subtract", "__rsub__", "rsub", "sub_", "__isub__"})
SUMS = frozenset({"add", "__radd__", "add_", "__iadd__"}) | DIFFERENCES | JOINS
QUOTIENTS = frozenset({"div", "divide", "true_divide", "div_", "__itruediv__"})
PRODUCTS = QUOTIENTS | {
    "mul", "multiply", "__rmul__", "mul_", "__imul__", "dot", "matmul", "__matmul__", "inner", "mv",
}  # fmt: skip
"""Linear as long as all factors but one are plain data."""
_MOVES = frozenset({
    "sum", "nansum", "mean", "nanmean", "neg", "negative", "neg_", "positive", "view", "reshape", "squeeze",
    "unsqueeze", "flatten", "ravel", "to", "float", "double", "half", "bfloat16", "type", "type_as", "clone",
    "contiguous", "cpu", "cuda", "expand",
})  # fmt: skip
LINEAR = SUMS | PRODUCTS | _MOVES

_DIGITS = 3
"""A weight that a person writes down has few: 0.1, 5e-4, 0.025. One of a thousand such numbers times 64 bits of
another gives a third to the last bit by accident about once in 10^12 times."""
_MOST_PARTS = 100_000
"""Of a mean: batches and models have fewer entries than that in one number that is divided by hand."""


def is_multiple(number: float, source: float) -> bool:
    """Whether a number is another one times a weight such as people write them, or divided by a whole number, exactly.

    Squared ones count, too.
    """
    if not (math.isfinite(number) and math.isfinite(source)) or 0.0 in (number, source):
        return False
    return any(number in (weight * origin, -weight * origin) for origin in (source, source * source)
               for weight in _weights(number / origin)) or _is_part(number, source)  # fmt: skip


def _weights(ratio: float) -> Iterator[float]:
    if 1e-12 < abs(ratio) < 1e12:
        yield float(f"{abs(ratio):.{_DIGITS - 1}e}")


def _is_part(number: float, source: float) -> bool:
    parts = round(abs(source / number))
    return 1 <= parts <= _MOST_PARTS and number in (source / parts, -source / parts)
