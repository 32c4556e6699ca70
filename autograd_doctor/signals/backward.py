"""Every `backward()` and `grad()`, at the one function through which torch enters its engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch._C import _functorch

from autograd_doctor.signals.guard import Guard
from autograd_doctor.signals.patches import Patches
from autograd_doctor.signals.signal import Seam, Signal


@dataclass(eq=False, slots=True)
class BackwardCall:
    """A run of the engine that the program asked for; runs inside it, as of a checkpoint, belong to it.

    inputs: the tensors whose gradients were asked for, none for an ordinary backward. seeds: the gradients of the
    roots. result and error: when it has ended.
    """

    roots: list[torch.Tensor]
    retain_graph: bool
    create_graph: bool
    inputs: Sequence[Any]
    kind: Literal["backward", "grad"]
    seeds: Sequence[Any] = ()
    result: Sequence[Any] = ()
    error: BaseException | None = None


class Backward(Seam):
    """`began`, then `ended`, also where the engine raised. Of one that runs within another, as a hook may run it, only
    `nested` is sent, when it begins."""

    def __init__(self, guard: Guard) -> None:
        super().__init__(guard)
        self.began: Signal[BackwardCall] = Signal(guard, self)
        self.ended: Signal[BackwardCall] = Signal(guard, self)
        self.nested: Signal[None] = Signal(guard, self)

    def patch(self, patches: Patches) -> None:
        engine = torch.autograd._engine_run_backward  # type: ignore[attr-defined]
        patches.replace(torch.autograd, "_engine_run_backward", self._running(engine))

    def _running(self, engine: Callable[..., Any]) -> Callable[..., Any]:
        def run(t_outputs: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
            nap, roots = self.guard.nap, [root for root in t_outputs if isinstance(root, torch.Tensor)]
            is_plain = not any(map(_is_of_transform, roots))
            if nap is not None and is_plain and nap.passes(t_outputs):
                return engine(t_outputs, *args, **kwargs)
            if self.nested and _is_within_another():
                self.nested.send(None)
            if not (self.guard.idle and is_plain) or len(roots) != len(t_outputs) or _inside():
                return engine(t_outputs, *args, **kwargs)
            call = _call(roots, args, kwargs)
            self.began.send(call)
            try:
                result = engine(t_outputs, *args, **kwargs)
                call.result = result or ()
            except BaseException as error:
                call.error = error
                raise
            finally:
                self.ended.send(call)
            return result

        return run


def _inside() -> bool:
    """Whether a backward, or a transform of functions, is already under way in this thread."""
    return _is_within_another() or _functorch.peek_interpreter_stack() is not None


def _is_within_another() -> bool:
    return torch._C._current_graph_task_id() != -1


def _is_of_transform(root: torch.Tensor) -> bool:
    """Whether a transform of functions made it, which is over: what `vjp` returns runs the engine on such."""
    return _functorch.is_functorch_wrapped_tensor(root)


def _call(roots: list[torch.Tensor], args: tuple[Any, ...], kwargs: dict[str, Any]) -> BackwardCall:
    seeds, retain, create, inputs, *_ = args
    # `backward()` is what accumulates into leaves, `grad()` what does not.
    kind: Literal["backward", "grad"] = "backward" if kwargs.get("accumulate_grad") else "grad"
    return BackwardCall(roots, bool(retain), bool(create), inputs, kind, seeds)
