"""How much memory is handed out at this moment, and when it was most."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Literal

import torch

from autograd_doctor.events.efficiency import Peak
from autograd_doctor.findings import Location
from autograd_doctor.reading.torch_versions import allocated_bytes

_TRIED = 2**20
"""Bytes of a tensor that the C library has to notice: some programs bring an allocator of their own."""


class _Mallinfo(ctypes.Structure):
    """What `mallinfo2` of glibc (2.33 and later) returns, see mallinfo(3)."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in (
            "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost",
        )
    )  # fmt: skip


def allocated() -> int | None:
    """Bytes on the accelerator that the program uses, or else those that the C library has handed out to this process.

    None where neither tells. The C library counts what is no tensor as well.
    """
    on_accelerators = allocated_bytes()
    if on_accelerators is not None:
        return on_accelerators
    ask = _c_library()
    return ask() if ask is not None else None


class HighWater:
    """How far memory has risen at most since it was looked at first: the highest of what is seen."""

    def __init__(self) -> None:
        self._before: int | None = None
        self.highest: Peak | None = None

    def begin(self) -> None:
        if self._before is None:
            self._before = allocated()

    def look(self, during: Literal["forward", "backward"], location: Location | None) -> None:
        now = allocated() if self._before is not None else None
        if now is not None and self._before is not None:
            rise = now - self._before
            if self.highest is None or rise > self.highest.bytes:
                self.highest = Peak(rise, during, location)


@functools.cache
def _c_library() -> Callable[[], int] | None:
    """Who counts the bytes in small blocks, and in those that are large enough for pages of their own."""
    try:
        ask = ctypes.CDLL(None).mallinfo2
    except (OSError, TypeError, AttributeError):  # another C library, or another system
        return None
    ask.restype = _Mallinfo

    def bytes_in_use() -> int:
        told = ask()
        return int(told.uordblks + told.hblkhd)

    before = bytes_in_use()
    held = torch.empty(_TRIED, dtype=torch.uint8, device="cpu")
    return bytes_in_use if bytes_in_use() - before >= held.nbytes else None
