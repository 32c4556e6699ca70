"""What the program reads back: files by `torch.load`, and states that it gives to optimizers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

import torch
from torch.optim import Optimizer

from autograd_doctor.signals.guard import Guard
from autograd_doctor.signals.patches import Patches
from autograd_doctor.signals.signal import Seam, Signal


@dataclass(eq=False, slots=True)
class OptimizerLoad:
    """A `load_state_dict(state)` of an optimizer that went through."""

    optimizer: Optimizer
    state: Any


class Loads(Seam):
    """`opened` with what `torch.load` was told to read, and `read` with what it returned; `restored` when an optimizer
    has taken a state."""

    def __init__(self, guard: Guard) -> None:
        super().__init__(guard)
        self.opened: Signal[Any] = Signal(guard, self)
        self.read: Signal[Any] = Signal(guard, self)
        self.restored: Signal[OptimizerLoad] = Signal(guard, self)

    def patch(self, patches: Patches) -> None:
        reading = self._reading(torch.load)
        patches.replace(torch, "load", reading)
        patches.replace(torch.serialization, "load", reading)
        patches.replace(Optimizer, "load_state_dict", self._restoring(Optimizer.load_state_dict))

    def _reading(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def load(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            self.opened.send(args[0] if args else kwargs["f"])
            self.read.send(result)
            return result

        return load

    def _restoring(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def load_state_dict(optimizer: Optimizer, state_dict: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(optimizer, state_dict, *args, **kwargs)
            self.restored.send(OptimizerLoad(optimizer, state_dict))
            return result

        return load_state_dict
