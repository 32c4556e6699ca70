"""What becomes of the outputs of passes in train mode that no backward comes through: are they compared with anything?

A score compares them with labels or targets. A preview, such as of a generator, is only looked at; what has a part in a
loss, or chooses samples, is part of the training; and who gives a line the same inputs again wants another draw. Where
nothing takes them, the pass is for what it leaves behind: shapes, statistics, parameters that were not there before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import nn

from autograd_doctor.events.connectivity import IdleOutputSeen
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.connectivity.unused_forwards import UnusedForwards
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.instruments.spine.lineage import Lineage, Recorded
from autograd_doctor.instruments.spine.module_calls import ModuleCalls, RootBegan
from autograd_doctor.instruments.spine.tensors import Tensors
from autograd_doctor.operations import CATALOGUE, COMPARISONS, CONSTANTS, DIFFERENCES, LOOK_UPS, NOISE
from autograd_doctor.reading.module_tree import modules_in, parameters_of
from autograd_doctor.reading.numbers import ValueTable
from autograd_doctor.reading.operation_kinds import Kind
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.provenance import has_graph
from autograd_doctor.reading.subclasses import is_parameter
from autograd_doctor.reading.tensors_in import EVERYTHING, tensors_in
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.modules import ModuleCall
from autograd_doctor.signals.operations import Operation

_SCORES = frozenset(CATALOGUE) | COMPARISONS | DIFFERENCES | {"cdist", "cosine_similarity", "isclose"}
_COMPARES = _SCORES | LOOK_UPS
"""Rows of what has a graph are looked up for a training to come as well, as of labels that a model gave itself."""


@dataclass(eq=False)
class _Pass:
    """One whose outputs are followed. `drawn`: all that went in is noise; `borrowed`: it ran with other weights.

    left: its output left torch; ignored: nothing takes it; meant: it is no score of the model in the wrong mode.
    """

    module: int
    where: Place | None
    drawn: bool
    borrowed: bool
    grad_enabled: bool
    compared: bool = False
    left: bool = False
    ignored: bool = False
    meant: bool = False

    @property
    def key(self) -> tuple[object, ...]:
        """What is said of it."""
        meant = self.meant or self.ignored
        return self.module, self.where, self.compared, self.left, self.borrowed, self.grad_enabled, meant


class IdleOutputs(Instrument):
    """Follows them in steps that are looked at closely."""

    emits: ClassVar[tuple[type[Event], ...]] = (IdleOutputSeen,)

    def __init__(
        self,
        site: Site,
        course: Course,
        detail: Detail,
        lineage: Lineage,
        module_calls: ModuleCalls,
        tensors: Tensors,
        unused_forwards: UnusedForwards,
    ) -> None:
        super().__init__(site)
        self._guard = site.signals.guard
        self._course = course
        self._detail = detail
        self._focused_in = -1
        self._lineage = lineage
        self._module_calls = module_calls
        self._tensors = tensors
        self._unused_forwards = unused_forwards
        self._running: tuple[nn.Module, _Pass] | None = None
        self._passes: list[_Pass] = []
        self._given: ValueTable[tuple[_Pass | None, ...]] = self.value_table()
        """The passes that a tensor went into, None for those that are not followed."""
        self._followed = self.value_table()
        self._losses = self.value_table()
        """Numbers that a module itself gives: it has compared something with what it was given."""
        self._said: set[tuple[object, ...]] = set()

    def connect(self, signals: Signals) -> None:
        self.listen(self._module_calls.root_began, self._root_began, attention=Attention.CLOSE)
        self.listen(signals.modules.ended, self._ended, attention=Attention.CLOSE)
        self.listen(self._lineage.recorded, self._recorded)
        self.listen(self._lineage.operated, self._operated)
        self.listen(self._course.step_taken, self._step_taken)
        self.listen(self._detail.focused, self._focused)

    def finish(self) -> None:
        self._tell()

    def _focused(self, detail: Detail) -> None:
        """What was made earlier in this step is not known."""
        self._focused_in = self._course.steps

    def _root_began(self, began: RootBegan) -> None:
        call, idle = began.call, None
        if not (call.grad_enabled and self._unused_forwards.is_used(began.module, began.where, True)):
            idle = self._pass(began) if call.module.training else None
        for tensor in began.given:
            self._goes_in(tensor, began, idle)
        if idle is not None:
            self._running = call.module, idle

    def _pass(self, began: RootBegan) -> _Pass | None:
        made = [self._tensors.get(tensor) for tensor in began.given]
        if None in made and self._focused_in == self._course.steps:
            return None
        drawn = all(each is not None and each.created_by in NOISE for each in made)
        borrowed = any(map(_is_borrowed, modules_in(began.call.module)))
        return _Pass(began.module, began.where, drawn, borrowed, began.call.grad_enabled)

    def _goes_in(self, tensor: torch.Tensor, began: RootBegan, idle: _Pass | None) -> None:
        """What an earlier pass gave goes on in one that trains; or the same inputs come again: at the same line, in
        eval mode, or where they train."""
        source = self._followed.get(tensor)
        if source is not None:
            source.ignored = False
        if source is not None and began.call.grad_enabled and not source.grad_enabled:
            source.meant = True
        before = self._given.get(tensor) or ()
        again = [each for each in before if each is None or idle is None or each.where == idle.where]
        for each in (*again, idle) if again else ():
            if each is not None:
                each.meant = True
        self._given.put(tensor, (*before, idle))

    def _ended(self, call: ModuleCall) -> None:
        if self._running is None or call.module is not self._running[0]:
            return
        _, idle = self._running
        self._running = None
        if call.raised:
            return
        self._passes.append(idle)
        with self._guard.looking():
            for output in tensors_in([call.output], EVERYTHING):
                self._followed.put(output, idle)
                idle.ignored = True
                if output.dim() == 0 and output.is_floating_point():
                    self._losses.put(output, idle)

    def _recorded(self, recorded: Recorded) -> None:
        if not self._passes or self._running is not None:
            return
        found = [idle for each in recorded.inputs if (idle := self._followed.get(each)) is not None]
        if not found:
            return
        self._followed.put(recorded.output, found[0])
        found[0].ignored = False
        found[0].meant |= not found[0].grad_enabled and has_graph(recorded.output)
        compares = _SCORES if found[0].grad_enabled else _COMPARES
        if recorded.name in compares and any(self._is_data(each, found[0]) for each in recorded.inputs):
            found[0].compared = True

    def _is_data(self, tensor: torch.Tensor, idle: _Pass) -> bool:
        """Whether a tensor comes from elsewhere, and is neither learned nor the same number everywhere.

        What is compared with other outputs, and may have had a graph, may be a target that they are trained towards.
        """
        if self._followed.get(tensor) is not None or is_parameter(tensor):
            return False
        made = self._tensors.get(tensor)
        return made is None or (made.created_by not in CONSTANTS and not (idle.grad_enabled and made.values))

    def _operated(self, operation: Operation) -> None:
        """Values that leave torch, as arrays or as choices, may be compared there."""
        if not self._passes or operation.kind is not Kind.ESCAPE:
            return
        for tensor in tensors_in(operation.args):
            idle = self._followed.get(tensor)
            if idle is not None:
                idle.ignored = False
            is_number = tensor.numel() == 1 and tensor.is_floating_point()
            if idle is not None and (self._losses.get(tensor) is idle or not (idle.drawn or is_number)):
                idle.left = True

    def _step_taken(self, course: Course) -> None:
        self._tell()

    def _tell(self) -> None:
        passes, self._passes, self._running = self._passes, [], None
        self._followed.clear()
        self._losses.clear()
        self._given.clear()
        for idle in passes:
            if idle.key not in self._said:
                self._said.add(idle.key)
                self.emit(
                    IdleOutputSeen(
                        step=self._course.steps,
                        module=idle.module,
                        location=locate(idle.where),
                        compared=idle.compared or idle.left,
                        elsewhere=not idle.compared,
                        borrowed=idle.borrowed,
                        grad_enabled=idle.grad_enabled,
                        meant=idle.meant or idle.ignored,
                    )
                )


def _is_borrowed(named: tuple[str, nn.Module]) -> bool:
    """Whether a module has tensors in the place of its parameters, as `torch.func.functional_call` puts them there."""
    return not all(map(is_parameter, parameters_of(named[1]).values()))
