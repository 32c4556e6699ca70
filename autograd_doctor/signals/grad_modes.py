"""The context managers of torch that switch gradients: entered, exited, built, and applied as decorators."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from types import FrameType
from typing import Any

import torch
from torch.utils import _contextlib

from autograd_doctor.reading.asked_for import is_of_torch
from autograd_doctor.signals.guard import Guard
from autograd_doctor.signals.patches import Patches
from autograd_doctor.signals.signal import Seam, Signal

_MANAGERS: tuple[type[Any], ...] = (torch.no_grad, torch.inference_mode, torch.enable_grad, torch.set_grad_enabled)


@dataclass(eq=False, slots=True)
class GradSwitched:
    """A context manager switched gradients on or off; `frame` is the one that caused it."""

    manager: Any
    enabled: bool
    frame: FrameType


@dataclass(eq=False, slots=True)
class GradDecorated:
    """A function is put under a context manager that switches gradients."""

    manager: Any
    function: object


class GradModes(Seam):
    """`applied` when a manager is used as a decorator; `entered` and `exited` with a block.

    `called` when `set_grad_enabled(…)` is built, which switches at once; `decorated` when that is then used as a
    decorator, which switches back. What torch switches for itself, as distributions do in each draw, is not signalled
    in light steps.
    """

    def __init__(self, guard: Guard) -> None:
        super().__init__(guard)
        self.applied: Signal[GradDecorated] = Signal(guard, self)
        self.entered: Signal[GradSwitched] = Signal(guard, self)
        self.exited: Signal[GradSwitched] = Signal(guard, self)
        self.called: Signal[GradSwitched] = Signal(guard, self)
        self.decorated: Signal[GradSwitched] = Signal(guard, self)

    def patch(self, patches: Patches) -> None:
        for manager in _MANAGERS:
            patches.replace(manager, "__enter__", self._after(manager.__enter__, self.entered))
            patches.replace(manager, "__exit__", self._after(manager.__exit__, self.exited))
        decorator = _contextlib._DecoratorContextManager
        patches.replace(decorator, "__call__", self._applying(decorator.__call__))
        setter = torch.set_grad_enabled
        patches.replace(setter, "__init__", self._after(setter.__init__, self.called))
        patches.replace(setter, "__call__", self._after(setter.__call__, self.decorated))

    def _applying(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def __call__(manager: Any, orig_func: Any) -> Any:  # noqa: N807
            self.applied.send(GradDecorated(manager, orig_func))
            return original(manager, orig_func)

        return __call__

    def _after(self, original: Callable[..., Any], signal: Signal[GradSwitched]) -> Callable[..., Any]:
        @wraps(original)
        def switching(manager: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(manager, *args, **kwargs)
            # Optimizers of torch switch gradients off and on again inside each step, where nothing is looked at.
            if signal and not self.guard.muted and self.guard.idle:
                frame = sys._getframe(1)
                if self.guard.attention or not _is_torchs_own(frame.f_code.co_filename):
                    signal.send(GradSwitched(manager, torch.is_grad_enabled(), frame))
            return result

        return switching


def _is_torchs_own(path: str) -> bool:
    """Whether torch switches for itself: its decorators do so for whatever they decorate."""
    return is_of_torch(path) and path != _contextlib.__file__
