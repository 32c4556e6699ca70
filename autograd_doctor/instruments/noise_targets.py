"""Targets that are noise of a draw that the model was given nothing of, while it was given data with another noise."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import torch

from autograd_doctor.events import Event, NoiseApart
from autograd_doctor.instruments.course import Course
from autograd_doctor.instruments.detail import Detail
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.lineage import Lineage
from autograd_doctor.instruments.module_calls import ModuleCalls, RootBegan
from autograd_doctor.reading.linear import DIFFERENCES, JOINS
from autograd_doctor.reading.loss_arguments import operands_of
from autograd_doctor.reading.losses import REGRESSION
from autograd_doctor.reading.made import has_graph, next_order
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.pairs import ELEMENTWISE
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.shaping import MOVES
from autograd_doctor.reading.tensors_in import tensors_in
from autograd_doctor.reading.variable_names import variable_name
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.operations import Operation

_DRAWS = frozenset({"normal", "normal_", "randn", "randn_like"})
_COMPARES = REGRESSION | DIFFERENCES
_PASS_ON = ELEMENTWISE | MOVES | JOINS
_MOST_TOLD = 16


class _Draw(NamedTuple):
    number: int
    place: Place | None
    shape: torch.Size


class _Noisy(NamedTuple):
    """Draws of this step that a tensor was computed from, and whether anything else went into it."""

    draws: frozenset[_Draw]
    mixed: bool


class NoiseTargets(Instrument):
    """Follows normal noise, in steps that are looked at closely, into what models are given and into targets."""

    emits: ClassVar[tuple[type[Event], ...]] = (NoiseApart,)

    def __init__(self, site: Site, course: Course, detail: Detail, lineage: Lineage, module_calls: ModuleCalls) -> None:
        super().__init__(site)
        self._course = course
        self._detail = detail
        self._lineage = lineage
        self._module_calls = module_calls
        self._noisy: IdentityTable[_Noisy] = IdentityTable()
        self._given: list[tuple[_Noisy, Place | None]] = []
        self._told = 0

    def connect(self, signals: Signals) -> None:
        self.listen(self._lineage.operated, self._operation_ended, names=_DRAWS | _COMPARES | _PASS_ON)
        self.listen(self._module_calls.root_began, self._root_began, attention=Attention.CLOSE)
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.CLOSE)
        self.listen(self._detail.focused, self._turned)

    def _turned(self, detail: Detail) -> None:
        """What operations of other steps made is not known."""
        self._noisy, self._given = IdentityTable(), []

    def _step_taken(self, course: Course) -> None:
        self._noisy, self._given = IdentityTable(), []

    def _root_began(self, began: RootBegan) -> None:
        if began.call.grad_enabled and self._noisy:
            found = (self._noisy.get(tensor) for tensor in began.given)
            self._given += [(noisy, began.where) for noisy in found if noisy is not None]

    def _operation_ended(self, operation: Operation) -> None:
        name, result = operation.name, operation.result
        if not isinstance(result, torch.Tensor):
            return
        if name in _DRAWS:
            if result.dim() and not result.requires_grad:
                self._noisy.put(
                    result, _Noisy(frozenset({_Draw(next_order(), operation.place, result.shape)}), mixed=False)
                )
        elif not self._noisy:
            return
        elif not has_graph(result):
            self._combined(operation, result)
        elif name in _COMPARES and self._given and self._course.running is None:
            self._compared(operation)

    def _combined(self, operation: Operation, result: torch.Tensor) -> None:
        inputs = tensors_in((*operation.args, *operation.kwargs.values()))
        found = [noisy for tensor in inputs if (noisy := self._noisy.get(tensor)) is not None]
        if found:
            draws = frozenset[_Draw]().union(*(noisy.draws for noisy in found))
            others = any(tensor.shape == result.shape for tensor in inputs if tensor not in self._noisy)
            self._noisy.put(result, _Noisy(draws, mixed=others or any(noisy.mixed for noisy in found)))

    def _compared(self, operation: Operation) -> None:
        operands = operands_of(operation.args, operation.kwargs)
        target = next((each for each in operands or () if not has_graph(each)), None)
        noise = self._noisy.get(target) if target is not None else None
        if target is None or noise is None or noise.mixed or len(noise.draws) != 1:
            return
        (wanted,) = noise.draws
        known = frozenset[_Draw]().union(*(noisy.draws for noisy, _ in self._given))
        like = [
            (draw, where)
            for noisy, where in self._given
            for draw in noisy.draws
            if noisy.mixed and draw.shape == wanted.shape
        ]
        if wanted not in known and like and self._told < _MOST_TOLD:
            self._told += 1
            added, called = like[-1]
            self.emit(
                NoiseApart(
                    step=self._course.steps,
                    location=locate(operation.place),
                    name=variable_name(target),
                    shape=list(wanted.shape),
                    drawn_at=locate(wanted.place),
                    added_at=locate(added.place),
                    called_at=locate(called),
                )
            )
