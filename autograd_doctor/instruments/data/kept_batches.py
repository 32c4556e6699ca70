"""Batches that a line goes on to train on, after it has trained on others."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import torch

from autograd_doctor.events.data import BatchKept
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.module_calls import ModuleCalls, RootBegan
from autograd_doctor.instruments.spine.modules import Modules
from autograd_doctor.instruments.spine.optimizers import Optimizers
from autograd_doctor.reading.fingerprint import key_of, row_keys
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.subclasses import version_of
from autograd_doctor.reading.tensor_facts import is_remote
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.optimizers import StepCall

_MOST_FIELDS = 4
_MOST_LINES = 100
_LEAST_TOLD = 4
"""Steps on the same data: with fewer it is no event."""


@dataclass
class _Line:
    """What a line trains a module on. step: the latest look; since: the first look at what it is given now.

    differ: its samples, of which there is more than one, are not all the same. teachers: the optimizers that stepped
    while data changed, and on what it is given now.
    """

    name: str
    step: int = -1
    since: int = -1
    changes: int = 0
    steps: int = 0
    longest: int = 0
    samples: int = 0
    largest: int = 0
    differ: bool = False
    given: tuple[tuple[weakref.ref[torch.Tensor], int], ...] = ()
    held: int | None = None
    teachers: tuple[set[int], set[int]] = field(default_factory=lambda: (set(), set()))

    def are_given(self, tensors: Sequence[torch.Tensor]) -> bool:
        """Whether these tensors are the ones of the latest look, and nobody has written to them."""
        known = [(each(), version) for each, version in self.given]
        return len(known) == len(tensors) and all(
            before is tensor and version == version_of(tensor)
            for (before, version), tensor in zip(known, tensors, strict=True)
        )


class KeptBatches(Instrument):
    """Looks at what roots are given in training, in full steps: whether they are the same tensors, or hold the same."""

    emits: ClassVar[tuple[type[Event], ...]] = (BatchKept,)

    def __init__(
        self, site: Site, course: Course, module_calls: ModuleCalls, modules: Modules, optimizers: Optimizers
    ) -> None:
        super().__init__(site)
        self._course = course
        self._module_calls = module_calls
        self._modules = modules
        self._optimizers = optimizers
        self._lines: dict[tuple[int, Place | None], _Line] = {}

    def connect(self, signals: Signals) -> None:
        self.listen(self._module_calls.root_began, self._root_began, attention=Attention.FULL)
        self.listen(signals.steps.began, self._step_began, attention=Attention.FULL)

    def memory(self) -> dict[tuple[int, Place | None], _Line]:
        return self._lines

    def remember(self, memory: dict[tuple[int, Place | None], _Line]) -> None:
        self._lines = memory

    def finish(self) -> None:
        for (_, where), line in self._lines.items():
            if line.changes and line.differ and line.steps >= _LEAST_TOLD:
                before, since = line.teachers
                self.emit(
                    BatchKept(
                        step=self._course.steps,
                        location=locate(where),
                        name=line.name,
                        changes=line.changes,
                        since=line.since,
                        until=line.step,
                        steps=line.steps,
                        longest=line.longest,
                        samples=line.samples,
                        largest=line.largest,
                        same_optimizer=since <= before,
                    )
                )

    def _root_began(self, began: RootBegan) -> None:
        """The first call of a line in a step. What is differentiated by its data is given the same ones on purpose."""
        tensors = [tensor for tensor in began.given[:_MOST_FIELDS] if tensor.dim()]
        trains = began.call.grad_enabled and began.call.module.training
        key = (began.module, began.where)
        if not (trains and tensors) or any(tensor.requires_grad for tensor in tensors):
            return
        line = self._lines.get(key)
        if line is None:
            if len(self._lines) >= _MOST_LINES:
                return
            line = self._lines[key] = _Line(self._modules.name_of(began.module))
        if line.step != self._course.steps:
            self._look(line, tensors)

    def _look(self, line: _Line, tensors: Sequence[torch.Tensor]) -> None:
        is_first, same = line.step < 0, line.are_given(tensors)
        held = line.held if same else _held_by(tensors)
        if not same:
            same = held is not None and held == line.held
            line.given = tuple((weakref.ref(tensor), version_of(tensor)) for tensor in tensors)
            line.held = held
        line.step = self._course.steps
        if same:
            line.differ = line.differ if line.steps else _differ(tensors)
            line.steps += 1
            return
        line.longest = max(line.longest, line.step - 1 - line.since if line.steps else 0)
        line.changes += not is_first
        line.since, line.steps = line.step, 0
        line.largest, line.samples = max(line.largest, line.samples), len(tensors[0])
        line.teachers[0].update(line.teachers[1])
        line.teachers[1].clear()

    def _step_began(self, call: StepCall) -> None:
        number = self._optimizers.known(call.optimizer)
        for line in self._lines.values():
            if line.step == self._course.steps:
                line.teachers[1].add(number)


def _held_by(tensors: Sequence[torch.Tensor]) -> int | None:
    """A number for what they hold; None where it lies on an accelerator, which would have to be waited for."""
    if any(map(is_remote, tensors)):
        return None
    keys = [row_keys(tensor) for tensor in tensors]
    return hash(tuple(key_of(rows) for rows in keys if rows is not None)) if all(keys) else None


def _differ(tensors: Sequence[torch.Tensor]) -> bool:
    """Whether there are several samples: copies of a single one are made on purpose, or are another fault."""
    keys = (row_keys(tensor, waits=True) for tensor in tensors)
    return any(len(set(rows)) > 1 for rows in keys if rows is not None)
