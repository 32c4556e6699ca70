"""Copies of tensors from one device to another, as the program makes them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from inspect import getattr_static
from typing import Any

import torch

from autograd_doctor.reading.asked_for import is_in_torch_or_ours
from autograd_doctor.reading.subclasses import is_plain
from autograd_doctor.signals.patches import Patches
from autograd_doctor.signals.signal import CallSeam


@dataclass(eq=False, slots=True)
class MoveCall:
    """A tensor, or what is copied into it, lies on another device. waits: until it has come home to the CPU. result:
    what the call returned, None before."""

    tensor: torch.Tensor
    waits: bool = False
    result: torch.Tensor | None = None
    raised: bool = False


class Moves(CallSeam[MoveCall]):
    """`to`, `cuda` and `copy_` of plain tensors, where they cross devices. What torch itself copies, as in `Module.to`,
    is not signalled.

    The patch costs each of these calls some microseconds, so that who listens should do so only where there is another
    device.
    """

    def patch(self, patches: Patches) -> None:
        for name, target in _TARGETS.items():
            patches.replace(torch.Tensor, name, _Method(getattr_static(torch.Tensor, name), self, target))


class _Method:
    """Stands before a method of torch, which the class itself still shows: function modes go by that."""

    __slots__ = ("_original", "_seam", "_target")

    def __init__(self, original: Any, seam: Moves, target: Callable[..., torch.device | None]) -> None:
        self._original = original
        self._seam = seam
        self._target = target

    def __get__(self, tensor: torch.Tensor | None, kind: type | None = None) -> Any:
        method = self._original.__get__(tensor, kind)
        if not is_plain(tensor) or not self._seam.guard.idle:
            return method
        return method if is_in_torch_or_ours(sys._getframe(1)) else self._telling(method, tensor)

    def _telling(self, method: Callable[..., Any], tensor: Any) -> Callable[..., Any]:
        @wraps(method)
        def telling(*args: Any, **kwargs: Any) -> Any:
            with self._seam.guard.looking():
                target = self._target(tensor, args, kwargs)
            if target is None:
                return method(*args, **kwargs)
            waits = target.type == "cpu" and not kwargs.get("non_blocking", False)
            call = MoveCall(tensor, waits)
            with self._seam.around(call):
                call.result = method(*args, **kwargs)
                return call.result

        return telling


def _to(tensor: torch.Tensor, args: tuple[Any, ...], kwargs: dict[str, Any]) -> torch.device | None:
    """It takes a device, a dtype, or a tensor that has both. What torch would refuse is left to it."""
    wanted: Any = kwargs.get("device", kwargs.get("other", args[0] if args else None))
    if is_plain(wanted):
        return _if_elsewhere(wanted.device, tensor)
    try:
        return _if_elsewhere(torch.device(wanted), tensor) if isinstance(wanted, str | int | torch.device) else None
    except RuntimeError:
        return None


def _cuda(tensor: torch.Tensor, args: tuple[Any, ...], kwargs: dict[str, Any]) -> torch.device | None:
    return _if_elsewhere(torch.device("cuda"), tensor)


def _copied(tensor: torch.Tensor, args: tuple[Any, ...], kwargs: dict[str, Any]) -> torch.device | None:
    source: Any = args[0] if args else kwargs.get("src")
    return _if_elsewhere(tensor.device, source) if is_plain(source) else None


def _if_elsewhere(device: torch.device, tensor: torch.Tensor) -> torch.device | None:
    """A device, if the tensor is not there; one without an index is the one that is current."""
    here = tensor.device
    is_here = here.type == device.type and device.index in (None, here.index)
    return None if is_here else device


_TARGETS: dict[str, Callable[..., torch.device | None]] = {"to": _to, "cuda": _cuda, "copy_": _copied}
"""Where a call takes a tensor, or what is copied into it, if that is another device."""
