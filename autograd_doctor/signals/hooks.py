"""Hooks that are registered on modules and tensors."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import torch
from torch import nn

from autograd_doctor.signals.guard import Guard
from autograd_doctor.signals.patches import Patches
from autograd_doctor.signals.signal import Seam, Signal

C = TypeVar("C")

_ON_MODULES = (
    "register_forward_pre_hook",
    "register_forward_hook",
    "register_full_backward_pre_hook",
    "register_full_backward_hook",
    "register_backward_hook",
)
_ON_TENSORS = ("register_hook", "register_post_accumulate_grad_hook")


class Hooks(Seam):
    """`on_module` and `on_tensor`, with what now carries one more hook."""

    def __init__(self, guard: Guard) -> None:
        super().__init__(guard)
        self.on_module: Signal[nn.Module] = Signal(guard, self)
        self.on_tensor: Signal[torch.Tensor] = Signal(guard, self)

    def patch(self, patches: Patches) -> None:
        for name in _ON_MODULES:
            patches.replace(nn.Module, name, self._registering(getattr(nn.Module, name), self.on_module))
        for name in _ON_TENSORS:
            patches.replace(torch.Tensor, name, self._registering(getattr(torch.Tensor, name), self.on_tensor))

    def _registering(self, original: Callable[..., Any], signal: Signal[C]) -> Callable[..., Any]:
        @wraps(original)
        def register(carrier: C, *args: Any, **kwargs: Any) -> Any:
            handle = original(carrier, *args, **kwargs)
            signal.send(carrier)
            return handle

        return register
