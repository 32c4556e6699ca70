"""The hooks on a tensor, without asking its class."""

from __future__ import annotations

from typing import Any

import torch
from torch._C import TensorBase

from autograd_doctor.reading.without_running import is_a

_TABLES = (TensorBase.__dict__["_backward_hooks"], TensorBase.__dict__["_post_accumulate_grad_hooks"])


def hook_tables(tensor: torch.Tensor) -> list[Any]:
    """The dictionaries that torch keeps them in, None for each that was never needed."""
    return [table.__get__(tensor) for table in _TABLES]


def is_hooked(tensor: torch.Tensor) -> bool:
    return any(is_a(table, dict) and dict.__len__(table) for table in hook_tables(tensor))
