"""How large the targets of regressions are next to what is predicted, and how the latter grows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from statistics import median
from typing import ClassVar

import torch

from autograd_doctor.events.data import TargetScaleSeen
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.late_values import LateValues
from autograd_doctor.instruments.spine.lineage import Lineage
from autograd_doctor.instruments.spine.sources import Sources
from autograd_doctor.instruments.spine.tensors import Tensors
from autograd_doctor.operations import DISTANCES
from autograd_doctor.reading.loss_arguments import operands_of
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.provenance import has_graph
from autograd_doctor.reading.tensor_facts import readable
from autograd_doctor.reading.variable_names import variable_name
from autograd_doctor.signals import Signals
from autograd_doctor.signals.operations import Operation

_MOST_LINES = 50
_MOST_ELEMENTS = 2**20
_LEAST_LOOKS = 3


@dataclass
class _Line:
    """A line that compares; sizes are medians of absolute values. targets: those of its steps."""

    operation: str
    name: str
    first_step: int
    first: float
    last_step: int = 0
    last: float = 0.0
    targets: list[float] = field(default_factory=list)


class TargetScales(Instrument):
    """Measures, in steps that are looked at closely, both sides of comparisons with targets that come from data."""

    emits: ClassVar[tuple[type[Event], ...]] = (TargetScaleSeen,)

    def __init__(
        self, site: Site, course: Course, late_values: LateValues, lineage: Lineage, tensors: Tensors, sources: Sources
    ) -> None:
        super().__init__(site)
        self._course = course
        self._late_values = late_values
        self._lineage = lineage
        self._tensors = tensors
        self._sources = sources
        self._lines: dict[Place | None, _Line] = {}

    def connect(self, signals: Signals) -> None:
        self.listen(self._lineage.operated, self._operation_ended, names=DISTANCES)

    def finish(self) -> None:
        for place, line in self._lines.items():
            if len(line.targets) >= _LEAST_LOOKS:
                self.emit(
                    TargetScaleSeen(
                        step=self._course.steps,
                        location=locate(place),
                        operation=line.operation,
                        name=line.name,
                        target=median(line.targets),
                        first_step=line.first_step,
                        first=line.first,
                        last_step=line.last_step,
                        last=line.last,
                    )
                )

    def _operation_ended(self, operation: Operation) -> None:
        operands = operands_of(operation.args, operation.kwargs)
        if operands is None or self._course.running is not None or not has_graph(operation.result):
            return
        given, wanted = operands if has_graph(operands[0]) else operands[::-1]
        if given.shape != wanted.shape or wanted.requires_grad or not self._is_data(wanted) or not readable(given):
            return
        line = self._lines.get(operation.place)
        if line is not None and line.last_step == self._course.steps:
            return
        is_first = line is None
        if line is None:
            if len(self._lines) >= _MOST_LINES:
                return
            line = _Line(operation.name, variable_name(wanted), self._course.steps, 0.0)
            self._lines[operation.place] = line
        line.last_step = self._course.steps
        self._late_values.ask(self, [_size(given), _size(wanted)], partial(self._sizes_known, line, is_first=is_first))

    def _sizes_known(self, line: _Line, sizes: Sequence[float], *, is_first: bool) -> None:
        line.last, target = sizes
        line.first = line.last if is_first else line.first
        line.targets.append(target)

    def _is_data(self, target: torch.Tensor) -> bool:
        """Whether it is floating-point numbers out of a loader or a larger tensor, and nothing that a model gave."""
        if not target.is_floating_point() or not readable(target):
            return False
        if not 0 < target.numel() <= _MOST_ELEMENTS:
            return False
        made = self._tensors.get(target)
        return (made is None or not made.values) and bool(self._sources.of(target))


def _size(tensor: torch.Tensor) -> torch.Tensor:
    """The median of its absolute values, to which codes for what is missing, and outliers, are nothing."""
    return tensor.detach().float().abs().median()
