"""How much memory is handed out at this moment, and when it was most."""

from __future__ import annotations

import functools
from typing import Literal

import torch

from autograd_doctor import system
from autograd_doctor.events.efficiency import Peak
from autograd_doctor.findings import Location
from autograd_doctor.reading.torch_versions import allocated_bytes

_TRIED = 2**20
"""Bytes of a tensor that the C library has to notice: some programs bring an allocator of their own."""


def allocated() -> int | None:
    """Bytes on the accelerator that the program uses, or else those that the C library has handed out to this process.

    None where neither tells. The C library counts what is no tensor as well.
    """
    on_accelerators = allocated_bytes()
    if on_accelerators is not None:
        return on_accelerators
    return system.handed_out() if _is_told() else None


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
def _is_told() -> bool:
    """Whether the C library is the one that hands out what tensors take."""
    before = system.handed_out()
    held = torch.empty(_TRIED, dtype=torch.uint8, device="cpu")
    after = system.handed_out()
    return before is not None and after is not None and after - before >= held.nbytes
