"""Targets that are noise of a draw that the model was given nothing of, while it was given data with another noise."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import torch

from autograd_doctor.events.event import Event
from autograd_doctor.events.losses import NoiseApart
from autograd_doctor.instruments.instrument import Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.instruments.spine.lineage import Lineage
from autograd_doctor.instruments.spine.module_calls import ModuleCalls, RootBegan, RootPassed
from autograd_doctor.instruments.spine.within_step import WithinStep
from autograd_doctor.operations import DISTANCES, MOVES, NORMAL_NOISE
from autograd_doctor.reading.loss_arguments import operands_of
from autograd_doctor.reading.numbers import ValueTable
from autograd_doctor.reading.pairs import ELEMENTWISE
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.provenance import has_graph, next_order
from autograd_doctor.reading.tensors_in import tensors_in
from autograd_doctor.reading.variable_names import variable_name
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.operations import Operation

_PLAIN = ELEMENTWISE | MOVES
"""Operations that leave noise what it is, where nothing else goes in."""
_MOST_TOLD = 16
_MOST_DRAWS = 64
"""Of one tensor: what takes in more is no sample with noise, but weights that are moved at random."""


class _Draw(NamedTuple):
    """naps: how often operations on data had gone unrecorded before."""

    number: int
    place: Place | None
    shape: torch.Size
    naps: int


class _Noisy(NamedTuple):
    """Draws of this step that a tensor was computed from, and whether anything else went into it."""

    draws: frozenset[_Draw]
    mixed: bool


class _Given(NamedTuple):
    noisy: _Noisy
    shape: torch.Size
    place: Place | None


class NoiseTargets(WithinStep):
    """Follows normal noise, in steps that are looked at closely, into what models are given and into targets.

    A draw is known to a model if it is in what any module is given, if it is made or used in one, or if something was
    made of it that learns or that is no tensor.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (NoiseApart,)

    def __init__(self, site: Site, course: Course, detail: Detail, lineage: Lineage, module_calls: ModuleCalls) -> None:
        super().__init__(site, course, detail)
        self._lineage = lineage
        self._module_calls = module_calls
        self._told = 0

    def connect(self, signals: Signals) -> None:
        super().connect(signals)
        self.listen(self._lineage.operated, self._operation_ended)
        self.listen(self._module_calls.root_began, self._root_began, attention=Attention.CLOSE)
        self.listen(self._module_calls.root_passed, self._root_passed, attention=Attention.CLOSE)

    def _forget(self) -> None:
        self._noisy: ValueTable[_Noisy] = self.value_table()
        self._given: list[_Given] = []
        self._known: set[_Draw] = set()
        self._is_inside = False

    def _root_began(self, began: RootBegan) -> None:
        self._is_inside = True
        for tensor in began.given if self._noisy else ():
            noisy = self._noisy.get(tensor)
            if noisy is not None:
                self._known |= noisy.draws
                if began.call.grad_enabled:
                    self._given.append(_Given(noisy, tensor.shape, began.where))

    def _root_passed(self, passed: RootPassed) -> None:
        self._is_inside = False

    # ---------------------------------------------------------------------------------------------------- operations

    def _operation_ended(self, operation: Operation) -> None:
        name, result = operation.name, operation.result
        if self._course.running is not None:
            return
        if name in NORMAL_NOISE:
            self._drawn(operation)
        elif not self._noisy:
            return
        elif name in DISTANCES and isinstance(result, torch.Tensor) and has_graph(result):
            self._compared(operation)
        else:
            self._combined(operation)

    def _drawn(self, operation: Operation) -> None:
        result = operation.result
        if isinstance(result, torch.Tensor) and result.dim() and not result.requires_grad:
            draw = _Draw(next_order(), operation.place, result.shape, self._lineage.naps)
            self._noisy.put(result, _Noisy(frozenset({draw}), mixed=False))
            if self._is_inside:
                self._known.add(draw)

    def _combined(self, operation: Operation) -> None:
        inputs = operation.inputs
        found = [noisy for tensor in inputs if (noisy := self._noisy.get(tensor)) is not None]
        if not found:
            return
        draws = _newest(frozenset[_Draw]().union(*(noisy.draws for noisy in found)))
        written = operation.args[:1] if operation.name == "__setitem__" else (operation.result,)
        outputs = tensors_in(written)
        if not outputs or any(map(has_graph, outputs)):
            self._known |= draws
        others = {tensor.shape for tensor in inputs if tensor not in self._noisy}
        for output in outputs:
            is_mixed = operation.name not in _PLAIN or output.shape in others or any(noisy.mixed for noisy in found)
            self._noisy.put(output, _Noisy(draws, is_mixed))

    def _compared(self, operation: Operation) -> None:
        operands = operands_of(operation.args, operation.kwargs)
        target = next((each for each in operands or () if not has_graph(each)), None)
        noise = self._noisy.get(target) if target is not None else None
        if target is None or noise is None or noise.mixed or len(noise.draws) != 1 or self._told >= _MOST_TOLD:
            return
        (wanted,) = noise.draws
        like = [
            (draw, given)
            for given in self._given
            for draw in given.noisy.draws
            if given.noisy.mixed and wanted.shape in (draw.shape, given.shape)
        ]
        if like and wanted not in self._known and wanted.naps == self._lineage.naps:
            self._told += 1
            added, given = like[-1]
            self.emit(
                NoiseApart(
                    step=self._course.steps,
                    location=locate(operation.place),
                    name=variable_name(target),
                    shape=list(wanted.shape),
                    drawn_at=locate(wanted.place),
                    added_at=locate(added.place),
                    called_at=locate(given.place),
                )
            )


def _newest(draws: frozenset[_Draw]) -> frozenset[_Draw]:
    return draws if len(draws) <= _MOST_DRAWS else frozenset(sorted(draws, key=lambda draw: draw.number)[-_MOST_DRAWS:])
