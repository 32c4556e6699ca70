"""How much memory the process holds, read without waiting for anything."""

from __future__ import annotations

import os
from pathlib import Path

_STATM = Path("/proc/self/statm")
_PAGE = os.sysconf("SC_PAGE_SIZE")


def resident_bytes() -> int | None:
    """Main memory that the process occupies at this moment; None where the system does not tell."""
    try:
        return int(_STATM.read_bytes().split()[1]) * _PAGE
    except (OSError, ValueError, IndexError):
        return None
