"""Reads of `.grad` by the program, in every step: operations are not signalled in light ones, and these are none."""

from __future__ import annotations

import os
import sys
from typing import Any

import torch
from torch._C import TensorBase

from autograd_doctor.signals.guard import Guard
from autograd_doctor.signals.patches import Patches
from autograd_doctor.signals.signal import Seam, Signal

_TORCH = os.path.dirname(torch.__file__) + os.sep


class GradientReads(Seam):
    """`read`, with the tensor, before its `.grad` is handed out; a bare signal.

    What torch itself reads, to clear or to clip it, is not signalled. The patch costs every read a little, so that who
    listens should do so only while there is a leaf to be watched.
    """

    def __init__(self, guard: Guard) -> None:
        super().__init__(guard)
        self.read: Signal[torch.Tensor] = Signal(guard, self, bare=True)

    def patch(self, patches: Patches) -> None:
        patches.replace(torch.Tensor, "grad", _Grad(self.read))


class _Grad:
    """Stands before the descriptor of torch, which the class itself still shows: function modes go by that."""

    __slots__ = ("_original", "_read")

    def __init__(self, read: Signal[torch.Tensor]) -> None:
        self._original: Any = TensorBase.__dict__["grad"]
        self._read = read

    def __get__(self, tensor: torch.Tensor | None, kind: type | None = None) -> Any:
        if tensor is None:
            return self._original
        if not sys._getframe(1).f_code.co_filename.startswith(_TORCH):
            self._read.send(tensor)
        return self._original.__get__(tensor, kind)

    def __set__(self, tensor: torch.Tensor, gradient: torch.Tensor | None) -> None:
        self._original.__set__(tensor, gradient)

    def __delete__(self, tensor: torch.Tensor) -> None:
        self._original.__delete__(tensor)
