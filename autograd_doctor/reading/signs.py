"""The signs of factors, and the operations that change those of what they are given."""

from __future__ import annotations

from typing import Any

import torch

from autograd_doctor.reading.tensor_facts import readable

REVERSED = frozenset({"rsub", "__rsub__"})
"""Differences that begin with their second operand."""


def sign_of(factor: Any) -> int:
    """1 or -1 where a number or a tensor has that sign all over, 0 where it has not, or cannot be read."""
    if not isinstance(factor, torch.Tensor):
        return int(factor > 0) - int(factor < 0)
    if factor.is_complex() or not (readable(factor) and factor.numel()):
        return 0
    low, high = (bool(edge) for edge in ((factor >= 0).all(), (factor <= 0).all()))
    return low - high
