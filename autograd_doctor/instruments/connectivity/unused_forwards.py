"""Forward passes that built a graph which no backward ever used, and what the graphs held meanwhile."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import torch
from torch import nn

from autograd_doctor.clock import CLOCK
from autograd_doctor.events.connectivity import ForwardsWithoutBackward, IdleForwardUsed
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.instruments.spine.module_calls import ModuleCalls, RootPassed
from autograd_doctor.reading.graph_bytes import saved_bytes
from autograd_doctor.reading.module_tree import buffers_in, parameters_in
from autograd_doctor.reading.places import Place, locate, stack
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention

_MEASURED = 2
"""Passes of one line to measure, and training passes to let go by first, which a backward has mostly come through by
then: measuring walks over the whole graph, and the passes of a line are alike."""
_HOOKED = 64
"""Outputs of one pass to hook: a backward that uses any of them has used the pass, and models return fewer."""


@dataclass(eq=False)
class _Pass:
    step: int
    seconds: float
    outputs: list[weakref.ref[torch.Tensor]]

    @property
    def alive(self) -> bool:
        return any(output() is not None for output in self.outputs)


@dataclass(eq=False)
class _Origin:
    """A line that calls a module in one mode. Once a backward used one of its passes, the others are let alone."""

    module: int
    where: Place | None
    training: bool
    stack: tuple[Place, ...]
    used: bool = False
    reported: bool = False
    passes: int = 0
    measured: int = 0
    bytes_held: int = 0
    waiting: list[_Pass] = field(default_factory=list)


class UnusedForwards(Instrument):
    """Learns by a pre-hook on the nodes of the outputs whether a backward came through them.

    A pass is judged unused when two steps have gone by and its outputs are dead: a graph may be used after the next
    step of another optimizer. A backward that goes around all outputs (through an attribute that the forward left
    behind) counts for the latest pass.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (ForwardsWithoutBackward, IdleForwardUsed)

    def __init__(self, site: Site, course: Course, detail: Detail, module_calls: ModuleCalls) -> None:
        super().__init__(site)
        self._course = course
        self._detail = detail
        self._module_calls = module_calls
        self._origins: dict[tuple[int, Place | None, bool], _Origin] = {}
        self._called: _Origin | None = None
        self._latest: _Origin | None = None
        self._hit = False

    def connect(self, signals: Signals) -> None:
        self.listen(self._module_calls.root_passed, self._root_passed)
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.FULL)
        self.listen(self._course.backward_over, self._backward_over, attention=Attention.LIGHT)

    def never_used(self, module: int, where: Place | None) -> bool:
        """Whether no backward came through what a module returned there in eval mode, as far as is known."""
        origin = self._origins.get((module, where, False))
        return origin is not None and not origin.used

    def is_used(self, module: int, where: Place | None, training: bool) -> bool:
        """Whether a backward came back to a pass from there."""
        origin = self._origins.get((module, where, training))
        return origin is not None and origin.used

    def _root_passed(self, passed: RootPassed) -> None:
        conditions = passed.call.conditions
        if self._wants(conditions.module, conditions.where, conditions.training):
            seconds = CLOCK.thread_time() - passed.call.began
            self._passed(passed.call.module, seconds, passed.outputs, passed.inputs)

    def _wants(self, module: int, where: Place | None, training: bool) -> bool:
        """Whether a pass from there needs to be followed: not once a backward came back to one."""
        key = (module, where, training)
        origin = self._origins.get(key)
        if origin is None:
            origin = self._origins[key] = _Origin(*key, stack())
        if origin.used:
            self._latest = None
        self._called = origin
        return not origin.used

    def _passed(
        self, module: nn.Module, seconds: float, outputs: list[torch.Tensor], inputs: Iterable[torch.Tensor]
    ) -> None:
        """A root returned outputs that have a graph, from where it was last asked whether that is wanted."""
        origin = self._called
        if origin is None or not any(parameter.requires_grad for _, parameter in parameters_in(module)):
            return  # a criterion between the forward and the backward is not what a backward goes around
        self._latest = origin
        for output in outputs[:_HOOKED]:
            if output.grad_fn is not None:
                output.grad_fn.register_prehook(partial(self._use, origin))
        origin.passes += 1
        origin.waiting.append(_Pass(self._course.steps, seconds, [weakref.ref(output) for output in outputs]))
        if origin.measured < _MEASURED and (not origin.training or origin.passes > _MEASURED):
            origin.measured += 1
            own = (tensor for _, tensor in (*parameters_in(module), *buffers_in(module)))
            held_anyway = [*own, *inputs]
            origin.bytes_held = max(origin.bytes_held, saved_bytes(outputs, held_anyway).bytes)

    def _use(self, origin: _Origin, gradients: Any) -> None:
        self._hit = True
        self._now_used(origin)

    def _backward_over(self, course: Course) -> None:
        if self._detail.full and not self._hit and self._latest is not None:
            self._now_used(self._latest)
        self._hit = False

    def _now_used(self, origin: _Origin) -> None:
        if origin.reported and not origin.used:
            where = locate(origin.where)
            self.emit(
                IdleForwardUsed(step=self._course.steps, module=origin.module, location=where, training=origin.training)
            )
        origin.used = True
        origin.waiting.clear()

    def _step_taken(self, course: Course) -> None:
        """Report the passes that nothing can use any more."""
        for origin in self._origins.values():
            over = [one for one in origin.waiting if one.step <= self._course.steps - 2 and not one.alive]
            if over:
                origin.waiting = [one for one in origin.waiting if one not in over]
                self._report(origin, over)

    def finish(self) -> None:
        """The watch is over. Training passes since the last step may have been about to be used."""
        for origin in self._origins.values():
            latest = [one for one in origin.waiting if origin.training and one.step == self._course.steps]
            self._report(origin, [one for one in origin.waiting if one not in latest])
            self._report(origin, latest, unsettled=True)
            origin.waiting = []

    def _apart_from_training(self, origin: _Origin) -> Place | None:
        """The outermost line on the way to a pass that is not on the way to those that a backward used as well."""
        used = [other.stack for other in self._origins.values() if other.used and other.module == origin.module]
        callers = [place for place in origin.stack if place != origin.where]
        return next((place for place in callers if not any(place in other for other in used)), None) if used else None

    def _report(self, origin: _Origin, passes: list[_Pass], *, unsettled: bool = False) -> None:
        for step in sorted({one.step for one in passes}):
            origin.reported = True
            mine = [one for one in passes if one.step == step]
            self.emit(
                ForwardsWithoutBackward(
                    step=step,
                    module=origin.module,
                    location=locate(origin.where),
                    called_from=locate(self._apart_from_training(origin)),
                    training=origin.training,
                    passes=len(mine),
                    bytes_held=origin.bytes_held,
                    seconds=sum(one.seconds for one in mine),
                    unsettled=unsettled,
                )
            )
