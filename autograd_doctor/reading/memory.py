"""How much memory the process holds, read without waiting for anything."""

from __future__ import annotations

from autograd_doctor.system import PROCESSES, configured

_PAGE = configured("SC_PAGE_SIZE", 4096)


def resident_bytes() -> int | None:
    """Main memory that the process occupies at this moment; None where the system does not tell."""
    try:
        return int((PROCESSES / "self" / "statm").read_bytes().split()[1]) * _PAGE
    except (OSError, ValueError, IndexError):
        return None
