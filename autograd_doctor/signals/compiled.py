"""What torch compiles: the compiler would follow our looks, and what it makes runs as one piece."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from functools import wraps
from types import FunctionType
from typing import Any

import torch

from autograd_doctor.signals.guard import Guard
from autograd_doctor.signals.operations import Operations
from autograd_doctor.signals.patches import Patches
from autograd_doctor.signals.signal import Seam, Signal

_COMPILER = "torch._dynamo.eval_frame"
_WHY = "inside of what is compiled"
UNSEEN = "what is computed inside of a compiled model is not seen"
"""By which instruments say so."""


class Compiled(Seam):
    """`began`, with what was compiled, before it runs. Inside of it no signal of its thread is heard."""

    def __init__(self, guard: Guard, operations: Operations) -> None:
        super().__init__(guard)
        self.began: Signal[object] = Signal(guard, self)
        self._operations = operations
        self._patched: object = None

    def patch(self, patches: Patches) -> None:
        """The compiler takes a second to be imported, which is left to the program."""
        self._patched = None
        if _COMPILER in sys.modules:
            self._patch_compiler(patches)
        patches.replace(torch, "compile", self._compiling(torch.compile, patches))

    def _compiling(self, original: Callable[..., Any], patches: Patches) -> Callable[..., Any]:
        @wraps(original)
        def compile(*args: Any, **kwargs: Any) -> Any:
            importlib.import_module(_COMPILER)
            self._patch_compiler(patches)
            return original(*args, **kwargs)

        return compile

    def _patch_compiler(self, patches: Patches) -> None:
        context = getattr(sys.modules[_COMPILER], "_TorchDynamoContext", None)
        if context is not None and context is not self._patched:
            self._patched = context
            patches.replace(context, "__call__", self._wrapping(context.__call__))

    def _wrapping(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """A module that is compiled comes back as another one, whose forward is wrapped in turn."""

        @wraps(original)
        def call(context: Any, *args: Any, **kwargs: Any) -> Any:
            made = original(context, *args, **kwargs)
            compiles = callable(getattr(context, "callback", None))
            return self._unheard(made) if compiles and type(made) is FunctionType else made

        return call

    def _unheard(self, compiled: FunctionType) -> Callable[..., Any]:
        @wraps(compiled)
        def call(*args: Any, **kwargs: Any) -> Any:
            if not self.guard.idle or _is_eager():
                return compiled(*args, **kwargs)
            self.began.send(compiled)
            self._operations.rest(_WHY)
            try:
                with self.guard.unheard():
                    return compiled(*args, **kwargs)
            finally:
                self._operations.resume(_WHY)

        return call


def _is_eager() -> bool:
    """Whether torch was told to run everything as it is written."""
    stance = getattr(sys.modules[_COMPILER], "_stance", None)
    return getattr(stance, "stance", "") == "force_eager"
