"""Reads of `.grad`, and of values, by the program in every step: operations are not signalled in light ones.

Where values are on an accelerator, a read waits for it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from inspect import getattr_static
from typing import Any

import torch
from torch.nn.parameter import is_lazy

from autograd_doctor.reading.asked_for import is_in_torch_or_ours
from autograd_doctor.reading.subclasses import is_plain
from autograd_doctor.signals.guard import Guard
from autograd_doctor.signals.patches import Patches
from autograd_doctor.signals.signal import CallSeam, Seam, Signal

_CHECKS = ("isfinite", "isinf", "isnan")
_VALUES = (
    *("item", "tolist", "numpy", "cpu", "detach", "data", *_CHECKS),
    *("__array__", "__float__", "__format__", "__int__", "__repr__"),
)

_WAITING = ("item", "tolist", "numpy", "cpu", "__array__", "__float__", "__format__", "__int__", "__repr__")
_ONLY_WAITING = ("nonzero", "__bool__", "__index__")


@dataclass(eq=False, slots=True)
class Wait:
    """A call of a method of a tensor that returns when an accelerator has computed what it was asked for."""

    name: str
    raised: bool = False


class _Reads(Seam):
    """`read`, with the tensor, when the program gets hold of one of these attributes; a bare signal.

    What torch itself reads is not signalled, nor what we do, who are told of most operations without a look; nor what
    has no values yet. The patch costs every read a little, so that who listens should do so only while there is
    something to be watched.
    """

    names: tuple[str, ...]

    def __init__(self, guard: Guard) -> None:
        super().__init__(guard)
        self.read: Signal[torch.Tensor] = Signal(guard, self, bare=True)

    def patch(self, patches: Patches) -> None:
        for name in self.names:
            original = getattr_static(torch.Tensor, name)
            patches.replace(torch.Tensor, name, self._standing_before(original, name))

    def _standing_before(self, original: Any, name: str) -> _Attribute:
        return _Property(original, self.read) if hasattr(original, "__set__") else _Attribute(original, self.read)


class GradientReads(_Reads):
    """Who gets hold of `.grad`."""

    names = ("grad",)


class ValueReads(_Reads, CallSeam[Wait]):
    """Who takes a number out of a tensor, puts it away without its graph, or asks whether it is finite.

    `began`, then `ended`, of what waits for an accelerator meanwhile; those of subclasses of tensors, which may define
    what they do, are not signalled.
    """

    names = (*_VALUES, *_ONLY_WAITING)

    def patch(self, patches: Patches) -> None:
        super().patch(patches)
        for name in _CHECKS:
            patches.replace(torch, name, self._checking(getattr(torch, name)))

    def _standing_before(self, original: Any, name: str) -> _Attribute:
        if name in _WAITING or name in _ONLY_WAITING:
            return _Waiting(original, self, name)
        return super()._standing_before(original, name)

    def _checking(self, original: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
        @wraps(original)
        def check(*args: Any, **kwargs: Any) -> torch.Tensor:
            if args and isinstance(args[0], torch.Tensor) and not is_in_torch_or_ours(sys._getframe(1)):
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
        if tensor is not None and not is_in_torch_or_ours(sys._getframe(1)) and not is_lazy(tensor):
            self._read.send(tensor)
        return self._original.__get__(tensor, kind)


class _Property(_Attribute):
    __slots__ = ()

    def __set__(self, tensor: torch.Tensor, value: Any) -> None:
        self._original.__set__(tensor, value)

    def __delete__(self, tensor: torch.Tensor) -> None:
        self._original.__delete__(tensor)


class _Waiting(_Attribute):
    """Hands out a method of a tensor on an accelerator with `began` and `ended` around it, if somebody hears them."""

    __slots__ = ("_name", "_seam")

    def __init__(self, original: Any, seam: ValueReads, name: str) -> None:
        super().__init__(original, seam.read)
        self._seam = seam
        self._name = name

    def __get__(self, tensor: torch.Tensor | None, kind: type | None = None) -> Any:
        method = self._original.__get__(tensor, kind)
        if tensor is None or is_in_torch_or_ours(sys._getframe(1)) or is_lazy(tensor):
            return method
        if self._name not in _ONLY_WAITING:
            self._read.send(tensor)
        return self._signalling(method) if self._seam.began and _is_remote(tensor) else method

    def _signalling(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            with self._seam.around(Wait(self._name)):
                return method(*args, **kwargs)

        return call


def _is_remote(tensor: torch.Tensor) -> bool:
    if not is_plain(tensor):
        return False
    with torch._C.DisableTorchFunction():
        return not tensor.is_cpu
