"""Optimizers: built, given another group, stepping (with their closures), and gradients being cleared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, Literal

from torch import distributed, nn
from torch.optim.optimizer import Optimizer, register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from autograd_doctor.signals.guard import Guard
from autograd_doctor.signals.patches import Patches
from autograd_doctor.signals.signal import Seam, Signal


@dataclass(eq=False, slots=True)
class GroupAdded:
    """`add_param_group`, which the constructor calls, too."""

    optimizer: Optimizer
    group: dict[str, Any]


class OptimizersBuilt(Seam):
    """`built` after the constructor, `group_added` after each group."""

    def __init__(self, guard: Guard) -> None:
        super().__init__(guard)
        self.built: Signal[Optimizer] = Signal(guard, self)
        self.group_added: Signal[GroupAdded] = Signal(guard, self)

    def patch(self, patches: Patches) -> None:
        patches.replace(Optimizer, "__init__", self._initialising(Optimizer.__init__))
        patches.replace(Optimizer, "add_param_group", self._adding(Optimizer.add_param_group))

    def _initialising(self, original: Callable[..., None]) -> Callable[..., None]:
        @wraps(original)
        def __init__(optimizer: Optimizer, *args: Any, **kwargs: Any) -> None:  # noqa: N807
            original(optimizer, *args, **kwargs)
            self.built.send(optimizer)

        return __init__

    def _adding(self, original: Callable[..., None]) -> Callable[..., None]:
        @wraps(original)
        def add_param_group(optimizer: Optimizer, param_group: dict[str, Any]) -> None:
            original(optimizer, param_group)
            self.group_added.send(GroupAdded(optimizer, param_group))

        return add_param_group


@dataclass(eq=False, slots=True)
class StepCall:
    """A step of an optimizer. `closure`: it was given one, which runs forward and backward inside the step."""

    optimizer: Optimizer
    closure: bool


class OptimizerSteps(Seam):
    """`began`; with a closure, `closure_began` and `closure_ended` each time that it is called; `ended`.

    Steps are seen through torch's public hooks, which say nothing of a step that raised. Those that a rank without data
    takes for others, at the end of `Join`, are none of the program's.
    """

    def __init__(self, guard: Guard) -> None:
        super().__init__(guard)
        self.began: Signal[StepCall] = Signal(guard, self)
        self.closure_began: Signal[StepCall] = Signal(guard, self)
        self.closure_ended: Signal[StepCall] = Signal(guard, self)
        self.ended: Signal[StepCall] = Signal(guard, self)

    def patch(self, patches: Patches) -> None:
        patches.callback(register_optimizer_step_pre_hook(self._begins).remove)
        patches.callback(register_optimizer_step_post_hook(self._ends).remove)
        if distributed.is_available():
            from torch.distributed.algorithms.join import Join

            patches.replace(Join, "__exit__", self._joining(Join.__exit__))

    def _joining(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def __exit__(join: Any, *raised: Any) -> Any:  # noqa: N807
            with self.guard.unheard():
                return original(join, *raised)

        return __exit__

    def _begins(
        self, optimizer: Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        if self.guard.nap is not None and self.guard.nap.sleeps:
            return None
        closure = kwargs.get("closure", args[1] if len(args) > 1 else None)
        call = StepCall(optimizer, callable(closure))
        self.began.send(call)
        if not call.closure:
            return None
        wrapped = self._wrap(closure, call)
        if "closure" in kwargs:
            return args, {**kwargs, "closure": wrapped}
        return (args[0], wrapped, *args[2:]), kwargs

    def _wrap(self, closure: Any, call: StepCall) -> Callable[[], Any]:
        def wrapped() -> Any:
            self.closure_began.send(call)
            try:
                return closure()
            finally:
                self.closure_ended.send(call)

        return wrapped

    def _ends(self, optimizer: Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if self.guard.nap is not None and self.guard.nap.stepped(optimizer):
            return
        closure = kwargs.get("closure", args[1] if len(args) > 1 else None)
        self.ended.send(StepCall(optimizer, callable(closure)))


@dataclass(eq=False, slots=True)
class ClearCall:
    """A `zero_grad` on an optimizer or a module."""

    cleared: Optimizer | nn.Module
    how: Literal["optimizer.zero_grad", "module.zero_grad"]


class Clearing(Seam):
    """`began`, then `ended` where it returned."""

    def __init__(self, guard: Guard) -> None:
        super().__init__(guard)
        self.began: Signal[ClearCall] = Signal(guard, self)
        self.ended: Signal[ClearCall] = Signal(guard, self)

    def patch(self, patches: Patches) -> None:
        patches.replace(Optimizer, "zero_grad", self._clearing(Optimizer.zero_grad, "optimizer.zero_grad"))
        patches.replace(nn.Module, "zero_grad", self._clearing(nn.Module.zero_grad, "module.zero_grad"))

    def _clearing(
        self, original: Callable[..., None], how: Literal["optimizer.zero_grad", "module.zero_grad"]
    ) -> Callable[..., None]:
        @wraps(original)
        def zero_grad(cleared: Any, set_to_none: bool = True) -> None:
            if not (self.began.listeners or self.ended.listeners):  # for each step, so without a call of ours
                original(cleared, set_to_none)
                return
            call = ClearCall(cleared, how)
            self.began.send(call)
            original(cleared, set_to_none)
            self.ended.send(call)

        return zero_grad
