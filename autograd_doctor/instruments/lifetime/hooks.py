"""Counts the hooks that the program registers on modules and leaves, at step boundaries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import nn

from autograd_doctor.events.event import Event
from autograd_doctor.events.lifetime import HooksCounted
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.reading.leaf_hooks import hook_tables
from autograd_doctor.reading.module_names import path_name, root_name
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.places import Place, locate, place
from autograd_doctor.reading.subclasses import is_leaf
from autograd_doctor.reading.without_running import attributes, is_a
from autograd_doctor.signals import Signals

_STEPS = 12
"""Steps after each of which hooks are counted: a hook that is added in every step has shown itself ten times over by
then. One that is added in every epoch shows in the step after it was."""
_MOST_MODULES = 1000
"""Programs may build new ones, with hooks, all the time."""
_OF_MODULES = ("_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks")


@dataclass
class _Subject:
    """What carries hooks, where the newest came from, and how many were reported last."""

    name: str
    newest: Place | None
    reported: int = 0


class Hooks(Instrument):
    """Only what had a hook registered while the program ran is counted, so that a step costs next to nothing."""

    emits: ClassVar[tuple[type[Event], ...]] = (HooksCounted,)

    def __init__(self, site: Site, course: Course, parameters: Parameters) -> None:
        super().__init__(site)
        self._course = course
        self._parameters = parameters
        self._modules: IdentityTable[_Subject] = IdentityTable()
        self._leaves: dict[int, _Subject] = {}

    def connect(self, signals: Signals) -> None:
        self.listen(signals.hooks.on_module, self._on_module)
        self.listen(signals.hooks.on_tensor, self._on_tensor)

    def _on_module(self, module: nn.Module) -> None:
        subject = self._modules.get(module)
        if subject is None and len(self._modules) < _MOST_MODULES:
            subject = _Subject(path_name(module) or root_name(module), None)
            self._modules.put(module, subject)
        self._added(subject)

    def _on_tensor(self, tensor: torch.Tensor) -> None:
        """Leaves that are met in the first steps, and parameters; others may be made anew in each step."""
        is_early = is_leaf(tensor) and self._course.steps < _STEPS
        number = self._parameters.number(tensor) if is_early else self._parameters.get(tensor)
        if number is not None:
            self._added(self._leaves.setdefault(number, _Subject(self._parameters.name_of(number), None)))

    def _added(self, subject: _Subject | None) -> None:
        if subject is not None:
            subject.newest = place()
            self.listen(self._course.step_taken, self._count)

    def _count(self, course: Course) -> None:
        if course.steps >= _STEPS:
            self.unlisten(self._course.step_taken, self._count)
        for module, subject in self._modules.items():
            kept = attributes(module)
            self._report(subject, [kept.get(table) for table in _OF_MODULES])
        for number, tensor in self._parameters.living():
            if number in self._leaves:
                self._report(self._leaves[number], hook_tables(tensor))

    def _report(self, subject: _Subject, tables: list[Any]) -> None:
        hooks = sum(dict.__len__(table) for table in tables if is_a(table, dict))
        if hooks != subject.reported:
            subject.reported = hooks
            self.emit(
                HooksCounted(
                    step=self._course.steps, subject=subject.name, hooks=hooks, location=locate(subject.newest)
                )
            )
