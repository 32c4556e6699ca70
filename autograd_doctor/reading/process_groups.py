"""Whether other processes take part in what this one computes. No collective is called to find out."""

from __future__ import annotations

import sys


def is_one_of_several() -> bool:
    """Whether this process belongs to a group of more than one."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return False
    return bool(distributed.get_world_size() > 1)
