"""The hooks on a leaf, without asking its class."""

from __future__ import annotations

from typing import Any

import torch
from torch._C import TensorBase

_TABLES = (TensorBase.__dict__["_backward_hooks"], TensorBase.__dict__["_post_accumulate_grad_hooks"])


def hook_tables(leaf: torch.Tensor) -> list[Any]:
    """The dictionaries that torch keeps them in, None for each that was never needed."""
    return [table.__get__(leaf) for table in _TABLES]
