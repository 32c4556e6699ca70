"""Calls of custom `autograd.Function`s."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch._C import _functorch

from autograd_doctor.signals.guard import Guard
from autograd_doctor.signals.patches import Patches
from autograd_doctor.signals.signal import Seam, Signal


@dataclass(eq=False, slots=True)
class FunctionCall:
    """`function.apply(*args, **kwargs)`, with its result when it has ended."""

    function: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    result: Any = None


class CustomFunctions(Seam):
    """`began`, then `ended` where it returned. Calls under transforms of functions are not signalled."""

    def __init__(self, guard: Guard) -> None:
        super().__init__(guard)
        self.began: Signal[FunctionCall] = Signal(guard, self)
        self.ended: Signal[FunctionCall] = Signal(guard, self)

    def patch(self, patches: Patches) -> None:
        original = vars(torch.autograd.Function)["apply"]
        patches.replace(torch.autograd.Function, "apply", classmethod(self._applying(original)))

    def _applying(self, descriptor: Any) -> Callable[..., Any]:
        """Bound for each class, as Python would: it is a `classmethod` or, from torch 2.14 on, a method of C."""

        def apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
            original = descriptor.__get__(None, cls)
            if not self.guard.idle or _functorch.peek_interpreter_stack() is not None:
                return original(*args, **kwargs)
            call = FunctionCall(cls, args, kwargs)
            self.began.send(call)
            call.result = result = original(*args, **kwargs)
            self.ended.send(call)
            return result

        return apply
