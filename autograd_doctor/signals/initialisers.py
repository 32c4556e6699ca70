"""Weights that are drawn by functions of `torch.nn.init`, which `reset_parameters()` of torch's modules calls, too."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch
from torch.nn import init

from autograd_doctor.signals.guard import Guard
from autograd_doctor.signals.patches import Patches
from autograd_doctor.signals.signal import Seam, Signal

_DRAWING = (
    *("kaiming_normal_", "kaiming_uniform_", "normal_", "orthogonal_", "sparse_", "trunc_normal_", "uniform_"),
    *("xavier_normal_", "xavier_uniform_"),
)
"""Those that take random numbers; zeros and ones tell nothing of what was there."""


class Initialisers(Seam):
    """`drawn` with the tensor, before it is filled; once more where a function mode is on."""

    def __init__(self, guard: Guard) -> None:
        super().__init__(guard)
        self.drawn: Signal[torch.Tensor] = Signal(guard, self)

    def patch(self, patches: Patches) -> None:
        for name in _DRAWING:
            patches.replace(init, name, self._drawing(getattr(init, name)))

    def _drawing(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def draw(*args: Any, **kwargs: Any) -> Any:
            tensor = args[0] if args else kwargs.get("tensor")
            if isinstance(tensor, torch.Tensor):
                self.drawn.send(tensor)
            return original(*args, **kwargs)

        return draw
