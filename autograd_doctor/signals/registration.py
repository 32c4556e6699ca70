"""Parameters, buffers and modules that the program gives to a module, through torch's public hooks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn.modules.module import (
    register_module_buffer_registration_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)

from autograd_doctor.signals.guard import Guard
from autograd_doctor.signals.patches import Patches
from autograd_doctor.signals.signal import Seam, Signal


@dataclass(eq=False, slots=True)
class Registered:
    """A module is being given something under a name; None takes away what was there, or keeps the name free."""

    module: nn.Module
    name: str
    given: torch.Tensor | nn.Module | None


class Registration(Seam):
    """`parameter`, `buffer` and `submodule`, each before the module has it."""

    def __init__(self, guard: Guard) -> None:
        super().__init__(guard)
        self.parameter: Signal[Registered] = Signal(guard, self)
        self.buffer: Signal[Registered] = Signal(guard, self)
        self.submodule: Signal[Registered] = Signal(guard, self)

    def patch(self, patches: Patches) -> None:
        patches.callback(register_module_parameter_registration_hook(self._parameter).remove)
        patches.callback(register_module_buffer_registration_hook(self._buffer).remove)
        patches.callback(register_module_module_registration_hook(self._submodule).remove)

    def _parameter(self, module: nn.Module, name: str, given: Any) -> None:
        self.parameter.send(Registered(module, name, given))

    def _buffer(self, module: nn.Module, name: str, given: Any) -> None:
        self.buffer.send(Registered(module, name, given))

    def _submodule(self, module: nn.Module, name: str, given: Any) -> None:
        self.submodule.send(Registered(module, name, given))
