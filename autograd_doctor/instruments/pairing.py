"""Inputs and targets that were taken from their tensors in different orders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch

from autograd_doctor.events import Event, PairsMisaligned
from autograd_doctor.instruments.course import Course
from autograd_doctor.instruments.detail import Detail
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.module_calls import ModuleCalls, RootBegan
from autograd_doctor.instruments.sources import Sources
from autograd_doctor.reading.fingerprint import row_keys
from autograd_doctor.reading.losses import LOSSES
from autograd_doctor.reading.made import has_graph
from autograd_doctor.reading.module_tree import parameters_in
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.variable_names import variable_name
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.operations import Operation

_AS_IT_IS = 1
"""The order of all rows of a tensor that outlives its step."""


class _Taken(NamedTuple):
    """Rows of one of the tensors of so many rows. order: as of a source, or `_AS_IT_IS`."""

    rows: int
    order: int
    place: Place | None


@dataclass
class _Loss:
    """A line that compares. at: of the newest pair that does not go together."""

    target: str
    rows: int = 0
    input_at: Place | None = None
    target_at: Place | None = None
    step: int = -1
    steps: int = 0
    misaligned: int = 0
    is_misaligned: bool = False


class Pairing(Instrument):
    """Compares, in steps that are looked at closely, how rows were ordered on both sides of a loss.

    A step in which any loss compares what belongs together counts as aligned: mixtures of two samples have a loss for
    the targets of each.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (PairsMisaligned,)

    def __init__(self, site: Site, course: Course, detail: Detail, module_calls: ModuleCalls, sources: Sources) -> None:
        super().__init__(site)
        self._course = course
        self._detail = detail
        self._module_calls = module_calls
        self._sources = sources
        self._known: IdentityTable[int] = IdentityTable()
        self._inputs: set[_Taken] = set()
        self._inputs_of = -1
        self._losses: dict[Place | None, _Loss] = {}

    def connect(self, signals: Signals) -> None:
        self.listen(self._module_calls.root_began, self._root_began, attention=Attention.CLOSE)
        self.listen(signals.operations.ended, self._operation_ended, names=LOSSES, attention=Attention.CLOSE)
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.CLOSE)

    def finish(self) -> None:
        for place, loss in self._losses.items():
            if loss.misaligned:
                self.emit(
                    PairsMisaligned(
                        step=self._course.steps,
                        location=locate(place),
                        input_at=locate(loss.input_at),
                        target_at=locate(loss.target_at),
                        target=loss.target,
                        rows=loss.rows,
                        steps=loss.misaligned,
                        of=loss.steps,
                    )
                )

    def _root_began(self, began: RootBegan) -> None:
        call = began.call
        if not call.grad_enabled or next(parameters_in(call.module), None) is None:
            return
        if self._inputs_of != self._course.steps:
            self._inputs_of, self._inputs = self._course.steps, set()
        for tensor in began.given:
            if not tensor.requires_grad and tensor.dim():
                self._inputs |= self._taken(tensor)

    def _taken(self, tensor: torch.Tensor) -> set[_Taken]:
        sources = self._sources.of(tensor)
        found = {_Taken(each.rows, each.order, each.place) for each in sources if each.order}
        since = self._known.get(tensor)
        if since is None:
            self._known.put(tensor, self._course.steps)
        elif since < self._course.steps and not sources:
            found.add(_Taken(tensor.shape[0], _AS_IT_IS, None))
        return found

    def _operation_ended(self, operation: Operation) -> None:
        if self._course.running is not None:
            return
        logits, target = (*operation.args, None, None)[:2]
        target = operation.kwargs.get("target", target)
        is_pair = isinstance(logits, torch.Tensor) and isinstance(target, torch.Tensor) and has_graph(logits)
        if not is_pair or target.requires_grad or not target.dim() or self._inputs_of != self._course.steps:
            return
        goals = self._taken(target)
        rows = {goal.rows for goal in goals} & {taken.rows for taken in self._inputs}
        for count in rows if len(set(row_keys(target) or [])) > 1 else ():  # equal ones have no order
            self._compared(operation, target, count, goals)

    def _compared(self, operation: Operation, target: torch.Tensor, rows: int, goals: set[_Taken]) -> None:
        inputs = {taken for taken in self._inputs if taken.rows == rows}
        goals = {goal for goal in goals if goal.rows == rows}
        loss = self._losses.get(operation.place)
        if loss is None:
            loss = self._losses[operation.place] = _Loss(variable_name(target))
        if loss.step != self._course.steps:
            loss.step, loss.is_misaligned = self._course.steps, True
            loss.steps += 1
        if {taken.order for taken in inputs} & {goal.order for goal in goals}:
            for other in self._losses.values():
                other.is_misaligned = False
        else:
            loss.rows = rows
            loss.input_at, loss.target_at = next(iter(inputs)).place, next(iter(goals)).place

    def _step_taken(self, course: Course) -> None:
        for loss in self._losses.values():
            loss.misaligned += loss.is_misaligned
            loss.is_misaligned = False
