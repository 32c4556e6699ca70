"""Attributes that are set in the belief that torch reads them, and that it does not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from autograd_doctor.signals.guard import Guard
from autograd_doctor.signals.patches import Patches
from autograd_doctor.signals.signal import Seam, Signal

_MISSPELT = ("require_grad", "require_grads", "requires_grads", "require_gradient", "requires_gradient")
"""Of `requires_grad`, which tensors have and modules do not."""


@dataclass(eq=False, slots=True)
class FlagSet:
    """`holder.name = value`."""

    holder: nn.Module | torch.Tensor
    name: str
    value: Any


class Flags(Seam):
    """`set`: such an attribute was set. A class of the program that defines one itself is left alone."""

    def __init__(self, guard: Guard) -> None:
        super().__init__(guard)
        self.set: Signal[FlagSet] = Signal(guard, self)

    def patch(self, patches: Patches) -> None:
        for name in _MISSPELT:
            patches.replace(torch.Tensor, name, _Attribute(name, self.set))
        for name in ("requires_grad", *_MISSPELT):
            patches.replace(nn.Module, name, _Attribute(name, self.set))


class _Attribute:
    """Keeps the value where it would be kept without this: in the object's own dictionary."""

    __slots__ = ("_name", "_set")

    def __init__(self, name: str, signal: Signal[FlagSet]) -> None:
        self._name = name
        self._set = signal

    def __get__(self, holder: Any, kind: type) -> Any:
        """Of the class it is this very descriptor: torch goes through all that its classes show."""
        if holder is None:
            return self
        if self._name not in holder.__dict__:
            raise AttributeError(self._absent(holder), name=self._name, obj=holder)
        return holder.__dict__[self._name]

    def __set__(self, holder: Any, value: Any) -> None:
        holder.__dict__[self._name] = value
        self._set.send(FlagSet(holder, self._name, value))

    def __delete__(self, holder: Any) -> None:
        if self._name not in holder.__dict__:
            raise AttributeError(self._absent(holder), name=self._name, obj=holder)
        del holder.__dict__[self._name]

    def _absent(self, holder: Any) -> str:
        return f"'{type(holder).__name__}' object has no attribute '{self._name}'"
