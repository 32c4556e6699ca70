"""What the first steps of a model were trained on, as numbers that can be compared between ranks."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, ClassVar

import torch
from torch import nn

from autograd_doctor.events.event import Event
from autograd_doctor.events.replicas import BatchTrained
from autograd_doctor.findings import Location
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.ranks.replicas import Part, Replicas
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.reading.mode_dependence import draws_in_training
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.places import here, is_ours
from autograd_doctor.reading.process_groups import is_one_of_several
from autograd_doctor.reading.subclasses import dispatches, gradient_of, node_of
from autograd_doctor.reading.tensor_facts import fingerprints, norms, readable
from autograd_doctor.reading.tensors_in import EVERYTHING, tensors_in
from autograd_doctor.reading.variable_names import variable_name
from autograd_doctor.reading.without_running import is_a
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.signals.collectives import Collective
from autograd_doctor.signals.loaders import BatchAsked, PassBegan
from autograd_doctor.signals.modules import ModuleCall
from autograd_doctor.signals.operations import Operation
from autograd_doctor.signals.optimizers import StepCall

_STEPS = 8
"""Of each model: its first ones."""
_MOST_TENSORS = 256
"""Of one step: what is given to every layer."""
_MOST_FIELDS = 16
_AWAITED = "wait_tensor"
"""Behind each functional collective whose result is used."""
_SYNCHRONISED = torch.nn.modules._functions.__file__
_SHARDED = str(Path(torch.__file__).parent / "distributed" / "fsdp") + os.sep


@dataclass
class _Collected:
    """Since the last step. given: to modules, without what has a graph. unknown: some of it cannot be read. beside:
    what operations took together with values that have a graph, once a layer draws at random.

    pending: batches that no backward came after yet; drawn: those that one did. losses: of backwards, loss_size: their
    norms. at: where the first module was called. is_random: a layer drops values out. forward: has begun, and no
    backward after it. shared: ranks have met in a collective between the two. pointers, sizes: of what collectives were
    given.
    """

    given: list[int] = field(default_factory=list)
    seen: IdentityTable[None] = field(default_factory=IdentityTable)
    beside: list[int] = field(default_factory=list)
    unknown: bool = False
    pending: list[tuple[object, int | None]] = field(default_factory=list)
    drawn: list[int | None] = field(default_factory=list)
    losses: list[int | None] = field(default_factory=list)
    loss_size: float = 0.0
    at: Location | None = None
    is_random: bool = False
    forward: bool = False
    shared: bool = False
    pointers: set[int] = field(default_factory=set)
    sizes: set[int] = field(default_factory=set)


class RankBatches(Instrument):
    """Looks at what modules, also inner ones, are given in steps that are recorded: a part of a batch that is taken
    inside of a model shows there."""

    emits: ClassVar[tuple[type[Event], ...]] = (BatchTrained,)

    def __init__(self, site: Site, course: Course, detail: Detail, replicas: Replicas) -> None:
        super().__init__(site)
        self._guard = site.signals.guard
        self._course = course
        self._detail = detail
        self._replicas = replicas
        self._now = _Collected()
        self._has_stepped = False
        self._passes: IdentityTable[tuple[str, Location | None]] = IdentityTable()
        self._latest: tuple[str, Location | None] = ("", None)

    def connect(self, signals: Signals) -> None:
        self.listen(signals.loaders.began, self._pass_began)
        self.listen(signals.loaders.drawn, self._drawn, attention=Attention.FULL)
        self.listen(signals.loaders.exhausted, self._exhausted)
        self.listen(signals.modules.began, self._module_began, attention=Attention.FULL, bare=True)
        self.listen(signals.operations.ended, self._operation_ended, attention=Attention.FULL)
        self.listen(signals.collectives.begins, self._collective_begins, attention=Attention.FULL)
        self.listen(signals.backward.began, self._backward_began, attention=Attention.FULL)
        self.listen(signals.steps.ended, self._step_ended, bare=True)
        self.listen(self._replicas.stepping, self._stepping)

    @property
    def _collected(self) -> _Collected:
        """Of the step that is on its way."""
        if self._has_stepped:
            self._has_stepped = False
            self._now = _Collected(pending=self._now.pending)
        return self._now

    # ------------------------------------------------------------------------------------------------------ loaders

    def _pass_began(self, began: PassBegan) -> None:
        if is_one_of_several():
            self._passes.put(began.iterator, (variable_name(began.loader), here()))

    def _drawn(self, asked: BatchAsked) -> None:
        if asked.iterator in self._passes:
            tensors = [each for each in tensors_in([asked.batch], EVERYTHING)[:_MOST_FIELDS] if each.numel()]
            self._collected.pending.append((asked.iterator, _key(tensors)))

    def _exhausted(self, asked: BatchAsked) -> None:
        """What was not trained on by now never is."""
        now = self._now
        now.pending = [(iterator, key) for iterator, key in now.pending if iterator is not asked.iterator]

    # ----------------------------------------------------------------------------------------------------- training

    def _module_began(self, call: ModuleCall) -> None:
        if not call.grad_enabled or not is_one_of_several():
            return
        with self._guard.looking():
            now = self._collected
            now.forward = True
            now.is_random |= call.module.training and draws_in_training(call.module)
            now.at = now.at or here()
            now.given += self._new(now, (*call.args, *call.kwargs.values()))

    def _operation_ended(self, operation: Operation) -> None:
        """Targets show here: losses that differ may come of the randomness alone, or of other targets.

        So do functional collectives, and tensors of which each rank holds a part.
        """
        now, result = self._now, operation.result
        now.shared |= now.forward and is_a(result, torch.Tensor) and (operation.name == _AWAITED or dispatches(result))
        if now.is_random and operation.name != "batch_norm" and is_a(result, torch.Tensor) and result.requires_grad:
            now.beside += self._new(now, (*operation.args, *operation.kwargs.values()))

    def _new(self, now: _Collected, values: tuple[Any, ...]) -> list[int]:
        """Numbers for data among values that did not come before in this step."""
        new = [each for each in tensors_in(values) if _is_data(each) and each not in now.seen]
        now.unknown |= not all(map(readable, new)) or len(now.seen) + len(new) > _MOST_TENSORS
        if now.unknown or not new:
            return []
        for each in new:
            now.seen.put(each, None)
        return [hash((*each.shape, bits)) for each, bits in zip(new, fingerprints(new), strict=True)]

    def _collective_begins(self, collective: Collective) -> None:
        """What is sent between backward and step may be gradients."""
        now = self._collected
        now.shared |= now.forward and not _is_for_torch()
        for tensor in (each for each in collective.given if now.losses and readable(each)):
            now.pointers.add(tensor.data_ptr())
            now.sizes.add(tensor.numel())

    def _backward_began(self, call: BackwardCall) -> None:
        if not is_one_of_several():
            return
        now = self._collected
        now.forward = False
        now.losses.append(_key(call.roots))
        now.loss_size += 0.0 if now.losses[-1] is None else sum(norms(call.roots))
        for iterator, key in now.pending:
            self._latest = self._passes.get(iterator) or self._latest
            now.drawn.append(key)
        now.pending = []

    def _step_ended(self, call: StepCall) -> None:
        self._has_stepped = True

    def _stepping(self, part: Part) -> None:
        now = self._now
        if part.taken >= _STEPS or not self._detail.full or now.unknown or not (now.given and now.losses):
            return
        name, began_at = self._latest if now.drawn else ("", now.at)
        self.emit(
            BatchTrained(
                step=self._course.steps,
                replicas=part.number,
                taken=part.taken,
                location=began_at,
                loader=name,
                given=hash(tuple(now.given)),
                drawn=_together(now.drawn),
                loss=_together(now.losses),
                loss_size=now.loss_size,
                beside=hash(tuple(now.beside)),
                is_random=now.is_random,
                shared=now.shared,
                sent=_is_sent(part.parameters, now),
            )
        )


def _is_data(tensor: torch.Tensor) -> bool:
    return bool(
        not dispatches(tensor) and tensor.numel() and node_of(tensor) is None and not is_a(tensor, nn.Parameter)
    )


def _is_for_torch() -> bool:
    """Whether a collective is called by what works alike whatever data ranks have: shards that are gathered, and
    statistics that are synchronised."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_ours(frame.f_code.co_filename):
        frame = frame.f_back
    path = "" if frame is None else frame.f_code.co_filename
    return path == _SYNCHRONISED or path.startswith(_SHARDED)


def _key(tensors: list[torch.Tensor]) -> int | None:
    """A number for the values that tensors hold, in any order; None where there are none, or nobody can read them."""
    if not tensors or not all(map(readable, tensors)):
        return None
    shapes = [tuple(tensor.shape) for tensor in tensors]
    return hash((*shapes, *fingerprints(tensors)))


def _together(keys: list[int | None]) -> int | None:
    return None if not keys or None in keys else hash(tuple(keys))


def _is_sent(parameters: list[Any], now: _Collected) -> bool:
    """Whether a collective was given a gradient, or as many values as all of them have."""
    gradients = [each for each in map(gradient_of, parameters) if each is not None and readable(each)]
    size = sum(each.numel() for each in gradients)
    return (size > 1 and size in now.sizes) or any(each.data_ptr() in now.pointers for each in gradients)
