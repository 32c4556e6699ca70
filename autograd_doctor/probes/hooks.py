"""Counts the hooks that the program registers on modules and leaves, at the first step boundaries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, ClassVar, Self
from weakref import WeakKeyDictionary

import torch
from torch import nn

from autograd_doctor.events import Event, HooksCounted
from autograd_doctor.watching.care import careful
from autograd_doctor.watching.module_names import path_name, root_name
from autograd_doctor.watching.patching import Patches
from autograd_doctor.watching.places import Place, locate, place
from autograd_doctor.watching.watch import Watch

_STEPS = 12
_ON_MODULES = (
    "register_forward_pre_hook",
    "register_forward_hook",
    "register_full_backward_pre_hook",
    "register_full_backward_hook",
    "register_backward_hook",
)
_ON_TENSORS = ("register_hook", "register_post_accumulate_grad_hook")
_TABLES = (
    "_forward_pre_hooks",
    "_forward_hooks",
    "_backward_pre_hooks",
    "_backward_hooks",
    "_post_accumulate_grad_hooks",
)


@dataclass
class _Subject:
    """What carries hooks, where the newest came from, and how many were reported last."""

    name: str
    newest: Place | None
    reported: int = 0


class Hooks:
    """Only what had a hook registered while the program ran is counted, so that a step costs next to nothing."""

    yields: ClassVar[tuple[type[Event], ...]] = (HooksCounted,)

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._patches = Patches()
        self._modules: WeakKeyDictionary[nn.Module, _Subject] = WeakKeyDictionary()
        self._leaves: dict[int, _Subject] = {}

    def __enter__(self) -> Self:
        for name in _ON_MODULES:
            self._patches.replace(nn.Module, name, self._registering(getattr(nn.Module, name), self._on_module))
        for name in _ON_TENSORS:
            self._patches.replace(torch.Tensor, name, self._registering(getattr(torch.Tensor, name), self._on_tensor))
        self._watch.stepped.append(self._count)
        return self

    def __exit__(self, *_: object) -> None:
        self._watch.stepped.remove(self._count)
        self._patches.close()

    def _registering(self, original: Callable[..., Any], note: Callable[[Any], None]) -> Callable[..., Any]:
        @wraps(original)
        def register(carrier: Any, *args: Any, **kwargs: Any) -> Any:
            handle = original(carrier, *args, **kwargs)
            if self._watch.step < _STEPS and not self._watch.busy:
                note(carrier)
            return handle

        return register

    @careful
    def _on_module(self, module: nn.Module) -> None:
        subject = self._modules.get(module)
        if subject is None:
            subject = self._modules[module] = _Subject(path_name(module) or root_name(module), None)
        subject.newest = place()

    @careful
    def _on_tensor(self, tensor: torch.Tensor) -> None:
        if tensor.is_leaf:
            number = self._watch.parameters.number(tensor)
            subject = self._leaves.setdefault(number, _Subject(self._watch.parameters.name(number), None))
            subject.newest = place()

    @careful
    def _count(self) -> None:
        if self._watch.step > _STEPS:
            return
        for module, subject in list(self._modules.items()):
            self._report(module, subject)
        for number, tensor in self._watch.parameters.living():
            if number in self._leaves:
                self._report(tensor, self._leaves[number])

    def _report(self, carrier: nn.Module | torch.Tensor, subject: _Subject) -> None:
        hooks = sum(len(getattr(carrier, table, None) or ()) for table in _TABLES)
        if hooks != subject.reported:
            subject.reported = hooks
            self._watch.emit(
                HooksCounted(step=self._watch.step, subject=subject.name, hooks=hooks, location=locate(subject.newest))
            )


PROBE = Hooks
