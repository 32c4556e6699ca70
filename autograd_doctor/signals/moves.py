"""Copies of tensors from one device to another, as the program makes them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from inspect import getattr_static
from typing import Any

import torch

from autograd_doctor.reading.asked_for import is_of_torch
from autograd_doctor.signals.patches import Patches
from autograd_doctor.signals.signal import CallSeam

_PLAIN_TENSORS = (torch.Tensor, torch.nn.Parameter)


@dataclass(eq=False, slots=True)
class MoveCall:
    """A tensor, or what is copied into it, lies on another device."""

    tensor: torch.Tensor
    raised: bool = False


class Moves(CallSeam[MoveCall]):
    """`to`, `cuda` and `copy_` of plain tensors, where they cross devices. What torch itself copies, as in `Module.to`,
    is not signalled.

    The patch costs each of these calls some microseconds, so that who listens should do so only where there is another
    device.
    """

    def patch(self, patches: Patches) -> None:
        for name, crosses in _CROSSES.items():
            patches.replace(torch.Tensor, name, _Method(getattr_static(torch.Tensor, name), self, crosses))


class _Method:
    """Stands before a method of torch, which the class itself still shows: function modes go by that."""

    __slots__ = ("_crosses", "_original", "_seam")

    def __init__(self, original: Any, seam: Moves, crosses: Callable[..., bool]) -> None:
        self._original = original
        self._seam = seam
        self._crosses = crosses

    def __get__(self, tensor: torch.Tensor | None, kind: type | None = None) -> Any:
        method = self._original.__get__(tensor, kind)
        if type(tensor) not in _PLAIN_TENSORS or not self._seam.guard.idle:
            return method
        return method if is_of_torch(sys._getframe(1).f_code.co_filename) else self._telling(method, tensor)

    def _telling(self, method: Callable[..., Any], tensor: Any) -> Callable[..., Any]:
        @wraps(method)
        def telling(*args: Any, **kwargs: Any) -> Any:
            with self._seam.guard.looking():
                crosses = self._crosses(tensor, args, kwargs)
            if not crosses:
                return method(*args, **kwargs)
            with self._seam.around(MoveCall(tensor)):
                return method(*args, **kwargs)

        return telling


def _to(tensor: torch.Tensor, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """It takes a device, a dtype, or a tensor that has both. What torch would refuse is left to it."""
    wanted: Any = kwargs.get("device", kwargs.get("other", args[0] if args else None))
    if type(wanted) in _PLAIN_TENSORS:
        return _is_elsewhere(tensor, wanted.device)
    try:
        return isinstance(wanted, str | int | torch.device) and _is_elsewhere(tensor, torch.device(wanted))
    except RuntimeError:
        return False


def _cuda(tensor: torch.Tensor, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    return tensor.device.type != "cuda"


def _copied(tensor: torch.Tensor, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    source: Any = args[0] if args else kwargs.get("src")
    return type(source) in _PLAIN_TENSORS and _is_elsewhere(tensor, source.device)


def _is_elsewhere(tensor: torch.Tensor, device: torch.device) -> bool:
    """A device without an index is the one that is current."""
    here = tensor.device
    return here.type != device.type or (device.index is not None and device.index != here.index)


_CROSSES: dict[str, Callable[..., bool]] = {"to": _to, "cuda": _cuda, "copy_": _copied}
