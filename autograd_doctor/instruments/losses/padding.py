"""Losses that count the positions of a batch at which its sequences were only filled up to the same length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch

from autograd_doctor.events.event import Event
from autograd_doctor.events.losses import PaddedTargetsSeen
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.lineage import Lineage
from autograd_doctor.instruments.spine.module_calls import ModuleCalls, RootBegan
from autograd_doctor.operations import CLASSES, IGNORED, reduction
from autograd_doctor.reading.padding import PaddedRows, Padding, padded_targets, padding_of
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.tensor_facts import readable
from autograd_doctor.reading.variable_names import variable_name
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.operations import Operation

_MOST_CALLS = 16
"""In one step, the newest: a loss follows its forward."""
_MOST_EVENTS = 100


@dataclass(frozen=True, slots=True)
class PaddedCall:
    """A call of a root in training that was given sequences which are filled up."""

    module: int
    place: Place | None
    padding: Padding


class PaddedTargets(Instrument):
    """Listens to losses over classes, in steps that are looked at closely. calls: the newest of the present step."""

    emits: ClassVar[tuple[type[Event], ...]] = (PaddedTargetsSeen,)

    def __init__(self, site: Site, course: Course, lineage: Lineage, module_calls: ModuleCalls) -> None:
        super().__init__(site)
        self._course = course
        self._lineage = lineage
        self._module_calls = module_calls
        self.calls: list[PaddedCall] = []
        self._told = 0

    def connect(self, signals: Signals) -> None:
        self.listen(self._module_calls.root_began, self._root_began, attention=Attention.CLOSE)
        self.listen(self._lineage.operated, self._operation_ended, names=CLASSES)
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.CLOSE)

    def _root_began(self, began: RootBegan) -> None:
        if not began.call.grad_enabled or self._told >= _MOST_EVENTS:
            return
        for tensor in began.given:
            padding = None if tensor.requires_grad else padding_of(tensor)
            if padding is not None:
                self.calls = [*self.calls[1 - _MOST_CALLS :], PaddedCall(began.module, began.where, padding)]

    def _operation_ended(self, operation: Operation) -> None:
        if not self.calls or self._course.running is not None:
            return
        arguments = dict(zip(("input", "target", "weight"), operation.args, strict=False)) | operation.kwargs
        target = arguments.get("target")
        if not isinstance(target, torch.Tensor) or target.is_floating_point() or not readable(target):
            return
        for call in reversed(self.calls):
            rows = padded_targets(call.padding, target)
            if rows is not None:
                self._tell(call, operation, arguments, target, rows)
                return

    def _tell(
        self,
        call: PaddedCall,
        operation: Operation,
        arguments: dict[str, Any],
        target: torch.Tensor,
        rows: PaddedRows,
    ) -> None:
        ignored, padded = arguments.get("ignore_index", IGNORED), rows.padded
        left = padded[padded != ignored]
        alike = 0 < len(padded) <= 2 * len(left) and bool((left == left[0]).all())
        value = int(left[0]) if alike and not _is_weighed(arguments, int(left[0])) else None
        self._told += 1
        self.emit(
            PaddedTargetsSeen(
                step=self._course.steps,
                module=call.module,
                operation=operation.name,
                name=variable_name(target),
                filled_with=call.padding.value,
                target=value,
                padded=len(left),
                counted=int((target != ignored).sum()),
                positions=rows.mask.shape[call.padding.time],
                is_end=value is not None and rows.all_end_with(value),
                location=locate(operation.place),
                called_at=locate(call.place),
            )
        )

    def _step_taken(self, course: Course) -> None:
        self.calls = []


def _is_weighed(arguments: dict[str, Any], value: int) -> bool:
    """Whether targets of this class are made not to count, or may be by what is done with them one by one."""
    weight = arguments.get("weight")
    return reduction(arguments) == "none" or (isinstance(weight, torch.Tensor) and float(weight[value]) == 0)
