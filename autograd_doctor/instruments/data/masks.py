"""Masks that leave a loss nothing: boolean ones that choose, and those by which losses of elements are multiplied."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch

from autograd_doctor.events.data import MaskedOut
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.tensors import Tensors
from autograd_doctor.operations import DIFFERENCES, LOSSES, MASKED, MULTIPLICATIONS, VIEWS
from autograd_doctor.reading.numbers import ValueTable
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.provenance import has_graph
from autograd_doctor.reading.tensor_facts import readable
from autograd_doctor.reading.tensors_in import tensors_in
from autograd_doctor.reading.variable_names import variable_name
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.operations import Operation

_REDUCTIONS = LOSSES | {"mean", "sum"}
_ERRORS = frozenset({"abs", "pow", "__pow__", "square"})
"""What makes losses of differences."""
_MOVES = VIEWS | {"mean", "sum"}
_COMPARES = LOSSES | DIFFERENCES | _ERRORS | _MOVES | MULTIPLICATIONS


@dataclass
class _Mask:
    """A line that takes out what a mask leaves.

    empty: steps in which it left nothing. left: in the latest, it left something. reduced: nothing was reduced. row: of
    the latest ones, those in a row in which it left nothing; since: the first of them.
    """

    name: str
    shape: list[int]
    weights: bool
    step: int = -1
    steps: int = 0
    empty: int = 0
    row: int = 0
    since: int = 0
    left: bool = False
    reduced: bool = False


class Masks(Instrument):
    """Counts, for each line that takes rows of a tensor with a graph by a mask, the steps in which none were left.

    So it does, in steps that are looked at closely, for lines that multiply the losses of several elements by zeros.
    Masks that the model makes of its own predictions let nothing through until it is sure of something.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (MaskedOut,)

    def __init__(self, site: Site, course: Course, tensors: Tensors) -> None:
        super().__init__(site)
        self._course = course
        self._tensors = tensors
        self._differences: ValueTable[None] = self.value_table()
        self._losses: ValueTable[None] = self.value_table()
        self._masks: dict[Place | None, _Mask] = {}
        self._emptied: ValueTable[_Mask] = self.value_table()

    def connect(self, signals: Signals) -> None:
        self.listen(signals.operations.ended, self._operation_ended, names=_REDUCTIONS | MASKED)
        self.listen(signals.operations.ended, self._compared, names=_COMPARES, attention=Attention.CLOSE)

    def finish(self) -> None:
        for place, mask in self._masks.items():
            if mask.empty and mask.reduced:
                self.emit(
                    MaskedOut(
                        step=self._course.steps,
                        location=locate(place),
                        name=mask.name,
                        shape=mask.shape,
                        empty=mask.empty,
                        steps=mask.steps,
                        in_a_row=mask.row,
                        since=mask.since,
                        weights=mask.weights,
                    )
                )

    def _operation_ended(self, operation: Operation) -> None:
        name, args = operation.name, operation.args
        if self._emptied and name in _REDUCTIONS and args:
            mask = self._emptied.get(args[0])
            if mask is not None:
                mask.reduced = True
        result = operation.result
        chosen = args[1] if name in MASKED and len(args) == 2 else None
        if type(chosen) is torch.Tensor and chosen.dtype is torch.bool and self._is_live(result):
            self._masked(operation, args[0], chosen, is_empty=not result.numel())

    def _is_live(self, result: object) -> bool:
        return isinstance(result, torch.Tensor) and self._course.running is None and has_graph(result)

    def _compared(self, operation: Operation) -> None:
        """Follow what each element has lost to where it is weighted."""
        name, result, tensors = operation.name, operation.result, tensors_in(operation.args)
        if not tensors or not self._is_live(result) or result.numel() < 2:
            return
        first, *others = tensors
        if (
            name in LOSSES
            or (name in _ERRORS and first in self._differences)
            or (name in _MOVES and first in self._losses)
        ):
            self._losses.put(result, None)
        elif name in DIFFERENCES and len(others) == 1 and first.shape == others[0].shape:
            if has_graph(first) != has_graph(others[0]):
                self._differences.put(result, None)
        elif name in MULTIPLICATIONS and len(others) == 1:
            each, mask = (first, others[0]) if first in self._losses else (others[0], first)
            if each in self._losses and not mask.requires_grad and mask.numel() > 1 and readable(mask):
                self._masked(operation, each, mask, is_empty=not bool(mask.any()))

    def _masked(self, operation: Operation, whole: torch.Tensor, chosen: torch.Tensor, *, is_empty: bool) -> None:
        made = self._tensors.get(chosen)
        if not whole.numel() or (made is not None and made.values):
            return
        mask = self._masks.get(operation.place)
        if mask is None:
            mask = self._masks[operation.place] = _Mask(
                variable_name(whole), list(chosen.shape), weights=operation.name in MULTIPLICATIONS
            )
        if mask.step != self._course.steps:
            mask.step, mask.left = self._course.steps, False
            mask.steps += 1
            mask.empty += 1
            mask.since = mask.since if mask.row else mask.step
            mask.row += 1
        if is_empty:
            self._emptied.put(operation.result, mask)
        elif not mask.left:
            mask.left = True
            mask.empty -= 1
            mask.row = 0
