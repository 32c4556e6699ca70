"""Attributes that are set in the belief that torch reads them, and that it does not."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import wraps
from inspect import getattr_static
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

from autograd_doctor.signals.guard import Guard
from autograd_doctor.signals.patches import Patches
from autograd_doctor.signals.signal import Seam, Signal

_SETTINGS = ("lr", "momentum", "weight_decay")
"""What optimizers of torch keep in their parameter groups, and read there alone."""
_MISSPELT = ("require_grad", "require_grads", "requires_grads", "require_gradient", "requires_gradient")
"""Of `requires_grad`, which tensors have and modules do not."""


@dataclass(eq=False, slots=True)
class FlagSet:
    """`holder.name = value`."""

    holder: nn.Module | torch.Tensor
    name: str
    value: Any


@dataclass(eq=False, slots=True)
class SettingUsed:
    """`optimizer.name = value`, or that it is asked for."""

    holder: Optimizer
    name: str
    value: Any


class Flags(Seam):
    """`set`: such an attribute was set; `tuned`: one of an optimizer, and `read` when the program asks for that.

    A class of the program that defines one itself is left alone.
    """

    def __init__(self, guard: Guard) -> None:
        super().__init__(guard)
        self.set: Signal[FlagSet] = Signal(guard, self)
        self.tuned: Signal[SettingUsed] = Signal(guard, self)
        self.read: Signal[SettingUsed] = Signal(guard, self)

    def patch(self, patches: Patches) -> None:
        for name in _MISSPELT:
            patches.replace(torch.Tensor, name, _Attribute(name, FlagSet, self.set))
        for name in ("requires_grad", *_MISSPELT):
            patches.replace(nn.Module, name, _Attribute(name, FlagSet, self.set))
        for name in _SETTINGS:
            patches.replace(Optimizer, name, _Attribute(name, SettingUsed, self.tuned, self.read))
        for kind in (torch.Tensor, nn.Module, Optimizer):
            patches.replace(kind, "__dir__", _listing(kind.__dir__))


def _listing(original: Callable[[Any], Iterable[str]]) -> Callable[[Any], list[str]]:
    """Without the names that stand for nothing yet: programs, and torch's compiler, ask for all that is listed."""

    @wraps(original)
    def listing(holder: Any) -> list[str]:
        return [name for name in original(holder) if name in vars(holder) or not _is_ours(type(holder), name)]

    return listing


def _is_ours(kind: type, name: str) -> bool:
    return isinstance(getattr_static(kind, name, None), _Attribute)


class _Attribute:
    """Keeps the value where it would be kept without this: in the object's own dictionary."""

    __slots__ = ("_kind", "_name", "_read", "_set")

    def __init__(self, name: str, kind: type[Any], set_: Signal[Any], read: Signal[Any] | None = None) -> None:
        self._name = name
        self._kind = kind
        self._set = set_
        self._read = read

    def __get__(self, holder: Any, kind: type) -> Any:
        """Of the class it is this very descriptor: torch goes through all that its classes show."""
        if holder is None:
            return self
        if self._name not in holder.__dict__:
            raise AttributeError(self._absent(holder), name=self._name, obj=holder)
        value = holder.__dict__[self._name]
        if self._read is not None:
            self._read.send(self._kind(holder, self._name, value))
        return value

    def __set__(self, holder: Any, value: Any) -> None:
        holder.__dict__[self._name] = value
        self._set.send(self._kind(holder, self._name, value))

    def __delete__(self, holder: Any) -> None:
        if self._name not in holder.__dict__:
            raise AttributeError(self._absent(holder), name=self._name, obj=holder)
        del holder.__dict__[self._name]

    def _absent(self, holder: Any) -> str:
        return f"'{type(holder).__name__}' object has no attribute '{self._name}'"
