"""Boolean masks that leave a loss nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch

from autograd_doctor.events import Event, MaskedOut
from autograd_doctor.instruments.course import Course
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.reading.losses import LOSSES
from autograd_doctor.reading.made import has_graph
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.variable_names import variable_name
from autograd_doctor.signals import Signals
from autograd_doctor.signals.operations import Operation

_REDUCTIONS = LOSSES | {"mean", "sum"}
_CHOICES = frozenset({"__getitem__", "masked_select"})


@dataclass
class _Mask:
    """A line that takes out what a mask leaves.

    empty: steps in which it left nothing. left: in the latest, it left something. reduced: nothing was reduced.
    """

    name: str
    shape: list[int]
    step: int = -1
    steps: int = 0
    empty: int = 0
    left: bool = False
    reduced: bool = False


class Masks(Instrument):
    """Counts, for each line that takes rows of a tensor with a graph by a mask, the steps in which none were left."""

    emits: ClassVar[tuple[type[Event], ...]] = (MaskedOut,)

    def __init__(self, site: Site, course: Course) -> None:
        super().__init__(site)
        self._course = course
        self._masks: dict[Place | None, _Mask] = {}
        self._emptied: IdentityTable[_Mask] = IdentityTable()

    def connect(self, signals: Signals) -> None:
        self.listen(signals.operations.ended, self._operation_ended, names=_REDUCTIONS | _CHOICES)

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
                    )
                )

    def _operation_ended(self, operation: Operation) -> None:
        name, args = operation.name, operation.args
        if self._emptied and name in _REDUCTIONS and args:
            mask = self._emptied.get(args[0])
            if mask is not None:
                mask.reduced = True
        if name in _CHOICES and len(args) == 2 and self._course.running is None:
            chosen, result = args[1], operation.result
            if type(chosen) is torch.Tensor and chosen.dtype is torch.bool and isinstance(result, torch.Tensor):
                self._masked(operation, result)

    def _masked(self, operation: Operation, result: torch.Tensor) -> None:
        whole, chosen = operation.args
        if not has_graph(result) or not whole.numel():
            return
        mask = self._masks.get(operation.place)
        if mask is None:
            mask = self._masks[operation.place] = _Mask(variable_name(whole), list(chosen.shape))
        if mask.step != self._course.steps:
            mask.step, mask.left = self._course.steps, False
            mask.steps += 1
            mask.empty += 1
        if not result.numel():
            self._emptied.put(result, mask)
        elif not mask.left:
            mask.left = True
            mask.empty -= 1
