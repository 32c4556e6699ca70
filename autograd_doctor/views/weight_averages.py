"""Moving averages of weights, as the shares tell that a step keeps and adds."""

from __future__ import annotations


def is_average(own: float, new: float, rounding: float) -> bool:
    """Whether the shares add up to one, and more stays than is added. rounding: by how much they may miss it."""
    return abs(own + new - 1.0) <= rounding and own > new > 0
