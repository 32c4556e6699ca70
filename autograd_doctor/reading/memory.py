"""How much memory the process holds, read without waiting for anything."""

from __future__ import annotations

import os
from pathlib import Path

import torch

_STATM = Path("/proc/self/statm")
_PAGE = os.sysconf("SC_PAGE_SIZE")


def resident_bytes() -> int | None:
    """Main memory that the process occupies at this moment; None where the system does not tell."""
    try:
        return int(_STATM.read_bytes().split()[1]) * _PAGE
    except (OSError, ValueError, IndexError):
        return None


def allocated_bytes() -> int | None:
    """Bytes of tensors on all CUDA devices, None if the program uses none."""
    if not torch.cuda.is_initialized():
        return None
    return sum(torch.cuda.memory_allocated(device) for device in range(torch.cuda.device_count()))
