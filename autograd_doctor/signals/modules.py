"""Calls of modules, and switches between training and evaluation mode."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from threading import get_ident
from typing import Any

import torch
from torch import nn

from autograd_doctor.signals.guard import Guard
from autograd_doctor.signals.patches import Patches
from autograd_doctor.signals.signal import CallSeam, Seam, Signal


@dataclass(eq=False, slots=True)
class ModuleCall:
    """A call of a module, under the grad mode in which it began. output: what it returned, None where it raised.

    alone: a listener to `began` sets it to be spared the calls inside this one.
    """

    module: nn.Module
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    grad_enabled: bool
    inference: bool
    output: Any = None
    raised: bool = False
    alone: bool = False


class ModuleCalls(Seam):
    """`began`, then `ended`, also where the forward raised; all are bare signals.

    `entered`, then `left`, are sent of every call, also inside one that is alone: right before the forward, and right
    after it.

    `nn.Module.__call__` is replaced, which disturbs less than global hooks: those send every call the slow way.
    """

    def __init__(self, guard: Guard) -> None:
        super().__init__(guard)
        self.began: Signal[ModuleCall] = Signal(guard, self, bare=True)
        self.ended: Signal[ModuleCall] = Signal(guard, self, bare=True)
        self.entered: Signal[ModuleCall] = Signal(guard, self, bare=True)
        self.left: Signal[ModuleCall] = Signal(guard, self, bare=True)
        self._alone: set[int] = set()
        """The threads in which a call that is alone runs."""

    def patch(self, patches: Patches) -> None:
        patches.replace(nn.Module, "__call__", self._calling(nn.Module.__call__))

    def _calling(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def __call__(module: nn.Module, *args: Any, **kwargs: Any) -> Any:  # noqa: N807
            is_inner = bool(self._alone) and get_ident() in self._alone
            if (is_inner and not self.entered) or not self.guard.idle:
                return original(module, *args, **kwargs)
            call = ModuleCall(module, args, kwargs, torch.is_grad_enabled(), torch.is_inference_mode_enabled())
            if not is_inner:
                self.began.send(call)
                if self._patches is None:  # nobody watches any more, or somebody else does from here on
                    return module(*args, **kwargs)
            if call.alone:
                self._alone.add(get_ident())
            try:
                self.entered.send(call)
                call.output = original(module, *args, **kwargs)
            except BaseException:
                call.raised = True
                raise
            finally:
                self.left.send(call)
                if call.alone:
                    self._alone.discard(get_ident())
                if not is_inner:
                    self.ended.send(call)
            return call.output

        return __call__


@dataclass(eq=False, slots=True)
class TrainCall:
    """`train(mode)` on a module. `eval` goes through it, and so do the children of a module."""

    module: nn.Module
    training: bool
    raised: bool = False


class TrainModes(CallSeam[TrainCall]):
    """Whatever sets a mode ends up in `nn.Module.train`, unless a class overrides it without `super()`."""

    def patch(self, patches: Patches) -> None:
        patches.replace(nn.Module, "train", self._training(nn.Module.train))

    def _training(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def train(module: nn.Module, mode: bool = True) -> Any:
            call = TrainCall(module, mode)
            with self.around(call):
                return original(module, mode)

        return train
