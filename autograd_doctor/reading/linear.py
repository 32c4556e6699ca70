"""Whether a loss stays a sum of the same terms."""

from __future__ import annotations

import math
from typing import Any

from autograd_doctor.reading.graph_walk import operation_of

_SUM_NODES = frozenset({
    "Add", "Cat", "Clone", "Expand", "Mean", "Nansum", "Neg", "ReshapeAlias", "Rsub", "Squeeze", "Stack", "Sub", "Sum",
    "ToCopy", "UnsafeView", "Unsqueeze", "View",
})  # fmt: skip
_PRODUCT_NODES = frozenset({"Div", "Dot", "Mm", "Mul", "Mv"})

_DIGITS = 3
"""A weight that a person writes down has few: 0.1, 5e-4, 0.025. That one of a few thousand such numbers, times another
number, gives a third one to the last of 53 bits by accident happens about once in 10^12 times."""
_PLAIN_DIGITS = 6
"""Numbers with no more are a person's own, or round by accident, and are products of too many others."""
_MOST_PARTS = 100_000
"""Of a mean: batches and models have fewer entries than that in one number that is divided by hand."""


def is_linear(node: Any) -> bool:
    """Whether a backward node belongs to an operation that keeps a sum of terms a sum, weighted or not."""
    name = operation_of(node)
    if name in _PRODUCT_NODES:
        sources = [source for source, _ in node.next_functions if source is not None]
        return len(sources) == 1 and (name != "Div" or node.next_functions[0][0] is not None)
    return name in _SUM_NODES


def is_multiple(number: float, source: float) -> bool:
    """Whether a number is another one, or its square, times a weight such as people write, or divided by a count."""
    if is_plain(number) or is_plain(source):
        return False
    return any(_is_weighted(number, origin) or _is_part(number, origin) for origin in (source, source * source))


def is_plain(number: float) -> bool:
    """Whether a person may have written a number down, or it is none."""
    return not math.isfinite(number) or number == _rounded(number, _PLAIN_DIGITS)


def _is_weighted(number: float, origin: float) -> bool:
    weight = _rounded(number / origin, _DIGITS) if origin else 0.0
    return number == weight * origin


def _is_part(number: float, origin: float) -> bool:
    ratio = origin / number
    parts = round(ratio) if abs(ratio) <= 2 * _MOST_PARTS else 0
    return 1 <= abs(parts) <= _MOST_PARTS and number == origin / parts


def _rounded(number: float, digits: int) -> float:
    return float(f"{number:.{digits - 1}e}")
