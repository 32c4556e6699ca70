"""Watches modules run: which are called by themselves, under which modes, and what their forward changed."""

from __future__ import annotations

import sys
import threading
import weakref
from collections import Counter
from collections.abc import Callable
from functools import wraps
from time import perf_counter
from typing import Any, ClassVar, Self

import torch
from torch import nn

from autograd_doctor.events import Event, ForwardRan, ForwardsWithoutBackward, IdleForwardUsed, ModeSet, ModuleSeen
from autograd_doctor.watching.care import careful
from autograd_doctor.watching.forward_writes import ForwardWrites
from autograd_doctor.watching.functional_modes import FunctionalModes, ModeUses, running_module
from autograd_doctor.watching.mode_dependence import may_depend_on_mode
from autograd_doctor.watching.module_register import ModuleRegister
from autograd_doctor.watching.patching import Patches
from autograd_doctor.watching.places import locate, place
from autograd_doctor.watching.root_calls import Conditions, RootCall, tensors_in
from autograd_doctor.watching.train_modes import TrainModes
from autograd_doctor.watching.unused_forwards import UnusedForwards
from autograd_doctor.watching.watch import Watch

_CHECKPOINT = torch.utils.checkpoint.__file__
_PASSES_LISTENED_TO = 2
"""Per root and mode, in different steps: the first pass of a model may take a way of its own."""


class _Running(threading.local):
    call: RootCall | None = None


class Modules:
    """Replaces `nn.Module.__call__`, which disturbs less than global hooks: those send every call the slow way.

    A root is a module that is not called inside another one's forward on the same thread. Inner calls only cost a
    look-up; modules replicated by DataParallel, run under a function transform, or recomputed in backward are no roots.
    """

    yields: ClassVar[tuple[type[Event], ...]] = (
        ModuleSeen,
        ForwardRan,
        ModeSet,
        ForwardsWithoutBackward,
        IdleForwardUsed,
    )

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._patches = Patches()
        self._running = _Running()
        self._known: dict[int, tuple[weakref.ref[nn.Module], bool]] = {}
        self._register = ModuleRegister(watch)
        self._modes = TrainModes(watch)
        self._writes = ForwardWrites(watch)
        self._unused = UnusedForwards(watch)
        self._uses = ModeUses()
        self._listened: Counter[tuple[int, bool]] = Counter()
        self._reported: set[Conditions] = set()
        self._reported_in = 0

    def __enter__(self) -> Self:
        self._patches.replace(nn.Module, "__call__", self._calling(nn.Module.__call__))
        self._patches.replace(nn.Module, "train", self._modes.watched(nn.Module.train))
        self._watch.stepped.append(self._stepped)
        self._watch.backward_finished.append(self._unused.backward_finished)
        return self

    def __exit__(self, *_: object) -> None:
        self._finish()
        self._watch.backward_finished.remove(self._unused.backward_finished)
        self._watch.stepped.remove(self._stepped)
        self._patches.close()

    @careful
    def _stepped(self) -> None:
        self._unused.stepped()

    @careful
    def _finish(self) -> None:
        self._unused.finish()

    # ------------------------------------------------------------------------------------------------------- calls

    def _calling(self, original: Callable[..., Any]) -> Callable[..., Any]:
        running, known = self._running, self._known

        @wraps(original)
        def __call__(module: nn.Module, *args: Any, **kwargs: Any) -> Any:  # noqa: N807
            call = running.call
            if call is None:
                return self._root_called(original, module, args, kwargs)
            entry = known.get(id(module))
            if entry is None or entry[0]() is not module:
                self._met_inside(call, module, sys._getframe(1))
            elif entry[1]:
                call.note(module)
            return original(module, *args, **kwargs)

        return __call__

    def _root_called(self, original: Callable[..., Any], module: nn.Module, args: Any, kwargs: Any) -> Any:
        gradients, inference = torch.is_grad_enabled(), torch.is_inference_mode_enabled()
        call = self._begun(module, gradients, inference) if self._is_root(module) else None
        if call is None:
            return original(module, *args, **kwargs)
        self._running.call = call
        listener = self._listener(call)
        try:
            with call.watching():
                output = original(module, *args, **kwargs)
        finally:
            self._running.call = None
            self._watch.operation_ran = None
        if listener is not None:
            self._heard(call, listener)
        self._ended(call, output, (args, kwargs))
        return output

    def _is_root(self, module: nn.Module) -> bool:
        return not (
            self._watch.busy
            or torch._C._current_graph_task_id() != -1
            or torch._C._functorch.peek_interpreter_stack() is not None
            or getattr(module, "_is_replica", False)
        )

    # ------------------------------------------------------------------------------------------------------- looks

    @careful
    def _begun(self, module: nn.Module, gradients: bool, inference: bool) -> RootCall | None:
        if not gradients and self._switched_by_torch() and _in_reentrant_checkpoint():
            return None
        number = self._register.root(module)
        if id(module) not in self._known:
            self._know(module)
        self._modes.became_root(module, number)
        switch = None if gradients else self._watch.switch
        conditions = Conditions(number, module.training, gradients, inference, place(), self._modes.changes, switch)
        call = RootCall(module, conditions, self._watch.step, self._is_new(conditions), uses=self._uses)
        if call.new:
            self._writes.begin(call)
        if self._may_depend(module):
            call.note(module)
        return call

    def _may_depend(self, module: nn.Module) -> bool:
        return may_depend_on_mode(module) or self._uses.uses_mode(module)

    def _listener(self, call: RootCall) -> FunctionalModes | None:
        """Listens to the first passes of a root in each mode, to learn which of its modules hand on their mode."""
        seen = call.conditions.module, call.conditions.training
        if not call.new or self._listened[seen] >= _PASSES_LISTENED_TO:
            return None
        self._listened[seen] += 1

        def met(module: nn.Module) -> None:
            self._known[id(module)] = (weakref.ref(module), True)
            call.note(module)

        listener = FunctionalModes(self._watch, self._uses, self._patched_code, met)
        self._watch.operation_ran = listener.operation
        return listener

    @careful
    def _heard(self, call: RootCall, listener: FunctionalModes) -> None:
        for module, _, _ in call.ran.values():
            if id(module) not in listener.drew:
                self._uses.ran_without_drawing(module)

    def _switched_by_torch(self) -> bool:
        return self._watch.switch is None or self._watch.switch.form == "framework"

    def _is_new(self, conditions: Conditions) -> bool:
        if self._reported_in != self._watch.step:
            self._reported_in = self._watch.step
            self._reported.clear()
        if conditions in self._reported:
            return False
        self._reported.add(conditions)
        return True

    def _know(self, module: nn.Module) -> None:
        for inner in module.modules():
            self._known[id(inner)] = (weakref.ref(inner), self._may_depend(inner))

    @careful
    def _met_inside(self, call: RootCall, module: nn.Module, frame: Any) -> None:
        """First sight of a module that its root did not hold when the root was first called."""
        self._know(module)
        if self._may_depend(module):
            call.note(module)
        if next(module.parameters(), None) is not None:
            self._register.met_inside(call.module, module, running_module(frame, self._patched_code))

    @property
    def _patched_code(self) -> Any:
        return nn.Module.__call__.__code__

    @careful
    def _ended(self, call: RootCall, output: Any, inputs: Any) -> None:
        conditions = call.conditions
        graph = [tensor for tensor in tensors_in(output) if tensor.grad_fn is not None]
        self._register.complete(call.module)
        if call.new:
            self._emit(call, bool(graph))
        if graph and self._unused.wants(conditions.module, conditions.where, conditions.training):
            self._unused.passed(call.module, perf_counter() - call.began, graph, tensors_in(inputs))

    def _emit(self, call: RootCall, builds_graph: bool) -> None:
        conditions = call.conditions
        in_eval, in_train = call.in_mode(False), call.in_mode(True)
        odd = in_eval[0] if conditions.training and in_eval else call.module
        written = self._writes.end(call)
        self._watch.emit(
            ForwardRan(
                step=call.step,
                module=conditions.module,
                location=locate(conditions.where),
                training=conditions.training,
                grad_enabled=conditions.grad_enabled,
                inference=conditions.inference,
                switch=conditions.switch,
                in_eval=self._register.names(call.module, in_eval),
                in_train=self._register.names(call.module, in_train),
                statistics_moved=self._register.names(call.module, call.moved()),
                builds_graph=builds_graph,
                mode_set_at=self._modes.set_at(odd),
                written_parameters=written.parameters,
                written_at=written.location,
                undone_parameters=written.undone,
            )
        )


def _in_reentrant_checkpoint() -> bool:
    """Whether gradients are off only because a checkpoint runs its segment for the first time."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename == _CHECKPOINT:
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


PROBE = Modules
