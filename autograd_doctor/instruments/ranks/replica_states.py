"""What replicas are evaluated with besides their parameters, and when each rank keeps their state."""

from __future__ import annotations

from collections import Counter
from typing import Any, ClassVar

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from autograd_doctor.events.event import Event
from autograd_doctor.events.replicas import BuffersEvaluated, StateTaken
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.ranks.replicas import Part, Replicas
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.module_calls import ModuleCalls, RootBegan
from autograd_doctor.reading.module_tree import buffers_in, modules_in
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.places import Place, here, locate, place
from autograd_doctor.reading.process_groups import is_one_of_several
from autograd_doctor.reading.subclasses import dispatches
from autograd_doctor.reading.tensor_facts import fingerprints, norms
from autograd_doctor.reading.variable_names import variable_name
from autograd_doctor.reading.without_running import attributes, is_a
from autograd_doctor.signals import Signals
from autograd_doctor.signals.states import StateCall

_MOST_READINGS = 16
"""Of the buffers of one model."""
_MOST_STATES = 64
"""That are taken of one model at one line: by then it shows whether ranks take them after the same steps."""


class ReplicaStates(Instrument):
    """Reads buffers when a model is first called in evaluation mode after a step, where no wrapper sends those of one
    rank to the others."""

    emits: ClassVar[tuple[type[Event], ...]] = (BuffersEvaluated, StateTaken)

    def __init__(self, site: Site, course: Course, module_calls: ModuleCalls, replicas: Replicas) -> None:
        super().__init__(site)
        self._course = course
        self._module_calls = module_calls
        self._replicas = replicas
        self._evaluated: IdentityTable[int] = IdentityTable()
        self._readings: Counter[int] = Counter()
        self._taking = 0
        self._taken: dict[tuple[int, Place | None], list[int]] = {}

    def connect(self, signals: Signals) -> None:
        self.listen(self._module_calls.root_began, self._root_began)
        self.listen(signals.states.taking, self._state_taking)
        self.listen(signals.states.taken, self._state_taken)

    def detach(self) -> None:
        self._evaluated.clear()
        super().detach()

    def _root_began(self, began: RootBegan) -> None:
        model = began.call.module
        if model.training or not is_one_of_several() or self._evaluated.get(model) == self._course.steps:
            return
        self._evaluated.put(model, self._course.steps)
        part = self._stepped(model)
        if part is not None and not _sends_buffers(part) and self._readings[part.number] < _MOST_READINGS:
            self._readings[part.number] += 1
            self._read(part, model)

    def _stepped(self, model: nn.Module) -> Part | None:
        part = self._replicas.part_of(model)
        return part if part is not None and part.taken and not part.sharded else None

    def _read(self, part: Part, model: nn.Module) -> None:
        buffers = _kept_buffers(_unwrapped(model))
        if buffers:
            called = variable_name(part.wrapper or model) or type(_unwrapped(model)).__name__
            self.emit(
                BuffersEvaluated(
                    step=self._course.steps,
                    replicas=part.number,
                    taken=part.taken,
                    names=[f"{called}.{name}" for name in buffers],
                    bits=fingerprints([*buffers.values()]),
                    norms=norms([*buffers.values()]),
                    location=here(),
                )
            )

    def _state_taking(self, call: StateCall) -> None:
        self._taking += 1

    def _state_taken(self, call: StateCall) -> None:
        """That of a child belongs to that of its parent."""
        self._taking -= 1
        if self._taking > 0 or call.state is None or not is_one_of_several():
            return
        part = self._stepped(call.module)
        if part is None:
            return
        where = place()
        taken = self._taken.setdefault((part.number, where), [])
        if part.taken not in taken[-1:] and len(taken) < _MOST_STATES:
            taken.append(part.taken)
            self.emit(
                StateTaken(step=self._course.steps, replicas=part.number, taken=part.taken, location=locate(where))
            )


def _unwrapped(model: nn.Module) -> Any:
    inner = attributes(model).get("_modules", {}).get("module") if is_a(model, DistributedDataParallel) else None
    return model if inner is None else inner


def _sends_buffers(part: Part) -> bool:
    """Whether those of one rank reach the others in each forward: they are a batch apart in between."""
    if part.wrapper is None:
        return False
    kept = attributes(part.wrapper)
    return kept.get("forward_sync_buffers", kept.get("broadcast_buffers")) is not False  # the latter in an older torch


def _kept_buffers(model: nn.Module) -> dict[str, torch.Tensor]:
    """Buffers with real numbers, by name, without those that the state leaves out, as those made anew by the code."""
    left_out = {
        f"{path}.{name}" if path else name
        for path, module in modules_in(model)
        for name in attributes(module).get("_non_persistent_buffers_set") or ()
    }
    return {
        name: buffer
        for name, buffer in buffers_in(model)
        if name not in left_out and buffer.is_floating_point() and buffer.numel() and not dispatches(buffer)
    }
