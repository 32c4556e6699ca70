"""Activation checkpoints of `torch.utils.checkpoint`, and the passes of the segments that they are given."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.utils.checkpoint

from autograd_doctor.signals.guard import Guard
from autograd_doctor.signals.operations import Operations
from autograd_doctor.signals.patches import Patches
from autograd_doctor.signals.signal import Seam, Signal


@dataclass(eq=False, slots=True, weakref_slot=True)
class CheckpointCall:
    """A checkpoint of `function(*args, …)`; the arguments are there while it begins.

    A listener to `began` asks for the passes of the segment by setting `follow`.
    """

    function: Callable[..., Any]
    args: Sequence[Any]
    reentrant: bool
    grad_enabled: bool
    follow: bool = False


class Checkpoints(Seam):
    """`began` and `ended` around the call; `pass_began` and `pass_ended` around each run of a followed segment."""

    def __init__(self, guard: Guard, operations: Operations) -> None:
        super().__init__(guard)
        self._operations = operations
        self.began: Signal[CheckpointCall] = Signal(guard, self)
        self.ended: Signal[CheckpointCall] = Signal(guard, self)
        self.pass_began: Signal[CheckpointCall] = Signal(guard, self)
        self.pass_ended: Signal[CheckpointCall] = Signal(guard, self)

    def patch(self, patches: Patches) -> None:
        module: Any = torch.utils.checkpoint
        if hasattr(module, "_checkpoint_impl"):
            # From torch 2.14 on `checkpoint` makes decorators, too: both its forms end here.
            patches.replace(module, "_checkpoint_impl", self._of_both_forms(module._checkpoint_impl))
        else:
            patches.replace(module, "checkpoint", self._of_calls(module.checkpoint))

    def _of_calls(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def checkpoint(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
            return self._run(lambda body: original(body, *args, **kwargs), function, args, kwargs)

        return checkpoint

    def _of_both_forms(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def _checkpoint_impl(function: Callable[..., Any], args: Any, kwargs: Any, **options: Any) -> Any:
            return self._run(lambda body: original(body, args, kwargs, **options), function, args, options)

        return _checkpoint_impl

    def _run(
        self, run: Callable[..., Any], function: Callable[..., Any], args: Sequence[Any], options: dict[str, Any]
    ) -> Any:
        reentrant = options.get("use_reentrant") in (None, True)
        call = CheckpointCall(function, args, reentrant, torch.is_grad_enabled())
        self.began.send(call)
        call.args = ()  # a segment may live as long as its graph, which need not keep its inputs
        result = run(self._passing(call) if call.follow else function)
        self.ended.send(call)
        return result

    def _passing(self, call: CheckpointCall) -> Callable[..., Any]:
        @functools.wraps(call.function, updated=())
        def run(*args: Any, **kwargs: Any) -> Any:
            self.pass_began.send(call)
            try:
                with self._operations.inside_backward():
                    return call.function(*args, **kwargs)
            finally:
                self.pass_ended.send(call)

        return run
