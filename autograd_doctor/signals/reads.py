"""Reads of `.grad`, and of values, by the program in every step: operations are not signalled in light ones."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from inspect import getattr_static
from typing import Any

import torch

from autograd_doctor.reading.asked_for import is_of_torch
from autograd_doctor.signals.guard import Guard
from autograd_doctor.signals.patches import Patches
from autograd_doctor.signals.signal import Seam, Signal

_CHECKS = ("isfinite", "isinf", "isnan")
_VALUES = (
    *("item", "tolist", "numpy", "cpu", "detach", "data", *_CHECKS),
    *("__array__", "__float__", "__format__", "__int__", "__repr__"),
)


class _Reads(Seam):
    """`read`, with the tensor, when the program gets hold of one of these attributes; a bare signal.

    What torch itself reads is not signalled. The patch costs every read a little, so that who listens should do so only
    while there is something to be watched.
    """

    names: tuple[str, ...]

    def __init__(self, guard: Guard) -> None:
        super().__init__(guard)
        self.read: Signal[torch.Tensor] = Signal(guard, self, bare=True)

    def patch(self, patches: Patches) -> None:
        for name in self.names:
            original = getattr_static(torch.Tensor, name)
            kind = _Property if hasattr(original, "__set__") else _Attribute
            patches.replace(torch.Tensor, name, kind(original, self.read))


class GradientReads(_Reads):
    """Who gets hold of `.grad`."""

    names = ("grad",)


class ValueReads(_Reads):
    """Who takes a number out of a tensor, puts it away without its graph, or asks whether it is finite."""

    names = _VALUES

    def patch(self, patches: Patches) -> None:
        super().patch(patches)
        for name in _CHECKS:
            patches.replace(torch, name, self._checking(getattr(torch, name)))

    def _checking(self, original: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
        @wraps(original)
        def check(*args: Any, **kwargs: Any) -> torch.Tensor:
            if args and isinstance(args[0], torch.Tensor) and not is_of_torch(sys._getframe(1).f_code.co_filename):
                self.read.send(args[0])
            return original(*args, **kwargs)

        return check


class _Attribute:
    """Stands before a descriptor of torch, which the class itself still shows: function modes go by that.

    A method is handed out as it is, so that no frame of ours is added to the stack when it is called.
    """

    __slots__ = ("_original", "_read")

    def __init__(self, original: Any, read: Signal[torch.Tensor]) -> None:
        self._original = original
        self._read = read

    def __get__(self, tensor: torch.Tensor | None, kind: type | None = None) -> Any:
        if tensor is not None and not is_of_torch(sys._getframe(1).f_code.co_filename):
            self._read.send(tensor)
        return self._original.__get__(tensor, kind)


class _Property(_Attribute):
    __slots__ = ()

    def __set__(self, tensor: torch.Tensor, value: Any) -> None:
        self._original.__set__(tensor, value)

    def __delete__(self, tensor: torch.Tensor) -> None:
        self._original.__delete__(tensor)
