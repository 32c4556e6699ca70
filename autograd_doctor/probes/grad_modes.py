"""Watches what switches gradients off: blocks, decorators, bare calls and frameworks, each with its line."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from functools import cache, wraps
from types import CodeType, FrameType, FunctionType
from typing import Any, ClassVar, Literal, Self
from weakref import WeakKeyDictionary

import torch
from msgspec import structs
from torch import nn
from torch.autograd import grad_mode
from torch.nn.modules.module import register_module_forward_pre_hook
from torch.utils import _contextlib
from torch.utils.hooks import RemovableHandle

from autograd_doctor.events import BackwardRan, Event, ForwardRan, GradModeLeftOff, GradSwitch
from autograd_doctor.findings import Location
from autograd_doctor.watching.care import careful
from autograd_doctor.watching.frame_locals import local_variables
from autograd_doctor.watching.patching import Patches
from autograd_doctor.watching.places import Place, here, is_own, locate, place
from autograd_doctor.watching.watch import Watch
from autograd_doctor.watching.without_running import unwrapped

Kind = Literal["no_grad", "inference_mode", "set_grad_enabled"]
Form = Literal["block", "decorator", "call", "framework"]

_MANAGERS: tuple[type[Any], ...] = (torch.no_grad, torch.inference_mode, torch.enable_grad, torch.set_grad_enabled)
_PACKAGE = __name__.partition(".")[0]


class GradModes:
    """Keeps `watch.switch` right at every moment.

    The context managers of torch restore what they found when they were entered (`set_grad_enabled`: when it was
    built). So the switch that was in force then is remembered per manager, and comes back when the manager exits.
    """

    # The last two carry `watch.switch`, which nobody else knows.
    yields: ClassVar[tuple[type[Event], ...]] = (GradModeLeftOff, ForwardRan, BackwardRan)

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._patches = Patches()
        self._before: WeakKeyDictionary[Any, GradSwitch | None] = WeakKeyDictionary()
        self._left_off = _LeftOff(watch)
        self._decorated: dict[tuple[CodeType, str], Place | None] = {}
        """Where each function was put under a manager of a kind: the line of the decorator, or that of a call."""

    def __enter__(self) -> Self:
        for manager in _MANAGERS:
            self._patches.replace(manager, "__enter__", self._entering(manager.__enter__))
            self._patches.replace(manager, "__exit__", self._exiting(manager.__exit__))
        decorates = _contextlib._DecoratorContextManager
        self._patches.replace(decorates, "__call__", self._applying(decorates.__call__))
        setter = torch.set_grad_enabled
        self._patches.replace(setter, "__init__", self._calling(setter.__init__))
        self._patches.replace(setter, "__call__", self._decorating(setter.__call__))
        self._patches.enter_context(self._left_off)
        return self

    def __exit__(self, *_: object) -> None:
        self._patches.close()

    # ------------------------------------------------------------------------------------------------------- seams

    def _entering(self, original: Callable[[Any], None]) -> Callable[[Any], None]:
        @wraps(original)
        def __enter__(manager: Any) -> None:  # noqa: N807
            found = self._watch.switch
            original(manager)
            self._entered(manager, found, torch.is_grad_enabled(), sys._getframe(1))

        return __enter__

    def _exiting(self, original: Callable[..., None]) -> Callable[..., None]:
        @wraps(original)
        def __exit__(manager: Any, *error: Any) -> None:  # noqa: N807
            original(manager, *error)
            self._restored(manager, torch.is_grad_enabled())

        return __exit__

    def _calling(self, original: Callable[..., None]) -> Callable[..., None]:
        @wraps(original)
        def __init__(manager: Any, mode: bool) -> None:  # noqa: N807
            original(manager, mode)
            self._called(manager, torch.is_grad_enabled(), sys._getframe(1))

        return __init__

    def _decorating(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def __call__(manager: Any, orig_func: Any) -> Any:  # noqa: N807
            decorated = original(manager, orig_func)
            self._restored(manager, torch.is_grad_enabled())
            return decorated

        return __call__

    def _applying(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def __call__(manager: Any, orig_func: Any) -> Any:  # noqa: N807
            self._applied(manager, orig_func)
            return original(manager, orig_func)

        return __call__

    # ------------------------------------------------------------------------------------------------------- looks

    @careful
    def _applied(self, manager: Any, function: object) -> None:
        code = _code(function)
        if code is not None:
            self._decorated[code, type(manager).__name__] = place()

    @careful
    def _entered(self, manager: Any, found: GradSwitch | None, on: bool, frame: FrameType) -> None:
        if not isinstance(manager, torch.set_grad_enabled):
            self._before[manager] = found
        self._switch(manager, on, frame, "block")

    @careful
    def _called(self, manager: Any, on: bool, frame: FrameType) -> None:
        self._before[manager] = self._watch.switch
        if frame.f_code.co_filename != grad_mode.__file__:
            self._switch(manager, on, frame, "call")
            self._left_off.called(self._watch.switch)

    @careful
    def _restored(self, manager: Any, on: bool) -> None:
        self._watch.switch = None if on else self._before.get(manager)
        self._left_off.called(self._watch.switch)

    def _switch(self, manager: Any, on: bool, frame: FrameType, form: Form) -> None:
        """A framework that switches off what the user had switched off already changes nothing."""
        new = None if on else self._described(type(manager).__name__, frame, form)
        if new is None or new.form != "framework" or self._watch.switch is None:
            self._watch.switch = new

    def _described(self, kind: Any, frame: FrameType, form: Form) -> GradSwitch:
        while frame.f_code.co_filename == contextlib.__file__ and frame.f_back is not None:
            frame = frame.f_back
        if frame.f_code.co_filename == _contextlib.__file__:
            code = _code(local_variables(frame).get("func"))
            if code is not None and is_own(code.co_filename):
                return _decorator(kind, code, self._decorated.get((code, kind)))
        elif is_own(frame.f_code.co_filename):
            return _switch_at(kind, form, (frame.f_code, frame.f_lasti))
        return GradSwitch(kind=kind, form="framework", location=here())


def _code(function: object) -> CodeType | None:
    """The code of what is decorated, below other decorators."""
    inner = unwrapped(function)
    return inner.__code__ if isinstance(inner, FunctionType) else None


@cache
def _switch_at(kind: Kind, form: Form, where: Place) -> GradSwitch:
    return GradSwitch(kind=kind, form=form, location=locate(where))


@cache
def _decorator(kind: Kind, code: CodeType, applied: Place | None) -> GradSwitch:
    """A function under a decorator; one that was decorated unseen begins at its first decorator."""
    location = locate(applied) or Location(path=code.co_filename, line=code.co_firstlineno)
    location = structs.replace(location, function=code.co_qualname)
    return GradSwitch(kind=kind, form="decorator", location=location, function=code.co_qualname)


class _LeftOff:
    """Watches what runs after a bare `set_grad_enabled(False)`, until it is undone or has been reported.

    Nothing is said of the call itself, nor of a forward pass under it: the program may still undo it. It is left off
    when a backward then finds no graph, or a step is taken although no backward found one.
    """

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._patches = Patches()
        self._hook: RemovableHandle | None = None
        self._work: Place | None = None
        self._reported = False

    def __enter__(self) -> Self:
        self._patches.replace(torch.autograd, "backward", self._before_backward(torch.autograd.backward))
        self._watch.stepped.append(self._stepped)
        return self

    def __exit__(self, *_: object) -> None:
        self._rest()
        self._watch.stepped.remove(self._stepped)
        self._patches.close()

    def called(self, switch: GradSwitch | None) -> None:
        """The grad mode changed: start or stop to follow the forward passes."""
        off = switch is not None and switch.form == "call"
        if off and self._hook is None and not self._reported:
            self._hook = register_module_forward_pre_hook(self._forward_begins)
        elif not off and switch is None:
            self._rest()

    def _rest(self) -> None:
        self._work = None
        if self._hook is not None:
            self._hook.remove()
            self._hook = None

    @property
    def _switch(self) -> GradSwitch | None:
        switch = self._watch.switch
        return switch if switch is not None and switch.form == "call" else None

    def _forward_begins(self, module: nn.Module, args: Any) -> None:
        if module.training and self._switch is not None:
            self._note_work(sys._getframe(1))

    @careful
    def _note_work(self, frame: FrameType) -> None:
        if _is_root(frame):
            self._work = place()

    def _before_backward(self, original: Callable[..., None]) -> Callable[..., None]:
        @wraps(original)
        def backward(tensors: Any, *args: Any, **kwargs: Any) -> None:
            if self._work is not None or self._switch is not None:
                self._judge(tensors)
            return original(tensors, *args, **kwargs)

        return backward

    @careful
    def _judge(self, tensors: Any) -> None:
        roots = [tensors] if isinstance(tensors, torch.Tensor) else list(tensors)
        if any(getattr(root, "grad_fn", root) is not None for root in roots):
            self._work = None
        else:
            self._report(locate(self._work) or here())

    def _stepped(self) -> None:
        if self._work is not None:
            self._report(locate(self._work))

    def _report(self, work: Location | None) -> None:
        switch = self._switch
        if switch is not None and not self._reported:
            self._reported = True
            self._watch.emit(GradModeLeftOff(step=self._watch.step, switch=switch, work=work))
            self._rest()


def _is_root(frame: FrameType | None) -> bool:
    """Whether the module call that this frame belongs to is the outermost one on the stack."""
    calls = 0
    while frame is not None:
        calls += frame.f_code is nn.Module._call_impl.__code__
        frame = frame.f_back
    return calls == 1


PROBE = GradModes
