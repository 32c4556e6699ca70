"""One call of a root module, from the moment it begins: the conditions, and what ran inside it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import torch
from torch import nn

from autograd_doctor.events import GradSwitch
from autograd_doctor.watching.functional_modes import ModeUses
from autograd_doctor.watching.mode_dependence import Versions, depends_on_mode, statistics_versions
from autograd_doctor.watching.parameter_writes import Numbered, ParameterWrites
from autograd_doctor.watching.places import Place
from autograd_doctor.watching.without_running import attributes, is_a

_NESTING = 4
"""An output object of a framework holds tuples of layers of pairs of keys and values."""


@dataclass(frozen=True)
class Conditions:
    """A call is reported once per step under the same conditions. `modes` counts the calls of train() and eval()."""

    module: int
    training: bool
    grad_enabled: bool
    inference: bool
    where: Place | None
    modes: int
    switch: GradSwitch | None = None


@dataclass
class RootCall:
    """A root module's forward that is running; lives no longer than the call."""

    module: nn.Module
    conditions: Conditions
    step: int
    new: bool
    parameters: Numbered = field(default_factory=list)
    versions: dict[int, int] = field(default_factory=dict)
    writes: ParameterWrites | None = None
    uses: ModeUses | None = None
    ran: dict[int, tuple[nn.Module, bool, Versions]] = field(default_factory=dict)
    began: float = field(default_factory=perf_counter)

    def watching(self) -> AbstractContextManager[object]:
        """What surrounds the forward."""
        return nullcontext() if self.writes is None else self.writes

    def note(self, module: nn.Module) -> None:
        """A module whose forward may depend on its mode is about to run inside."""
        if self.new and id(module) not in self.ran:
            self.ran[id(module)] = (module, module.training, statistics_versions(module))

    def in_mode(self, training: bool) -> list[nn.Module]:
        """Mode-dependent modules that ran in a mode, in order."""
        return [module for module, mode, _ in self.ran.values() if mode == training and self._depends(module)]

    def _depends(self, module: nn.Module) -> bool:
        return depends_on_mode(module) or (self.uses is not None and self.uses.depends(module))

    def moved(self) -> list[nn.Module]:
        """Normalisations whose running statistics the call has changed."""
        return [module for module, _, before in self.ran.values() if statistics_versions(module) != before]


def tensors_in(output: Any, depth: int = _NESTING) -> Iterator[torch.Tensor]:
    """The tensors of whatever a forward returned: nested sequences, mappings, objects; nothing of theirs is called."""
    if is_a(output, torch.Tensor):
        yield output
    elif depth > 0 and not is_a(output, (nn.Module, type)):
        for value in _inside(output):
            yield from tensors_in(value, depth - 1)


def _inside(output: Any) -> list[Any]:
    if is_a(output, dict):
        return list(dict.values(output))
    if is_a(output, (list, tuple)):
        return list((list if is_a(output, list) else tuple).__iter__(output))
    return list(attributes(output).values())
