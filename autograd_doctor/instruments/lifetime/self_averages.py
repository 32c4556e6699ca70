"""Averages and copies of weights that were meant to be apart and share their storage: what is kept meets itself."""

from __future__ import annotations

from itertools import permutations
from typing import ClassVar, Literal

import torch

from autograd_doctor.events.event import Event
from autograd_doctor.events.lifetime import WeightsMetThemselves
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.lineage import Lineage
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.instruments.spine.tensors import Tensors
from autograd_doctor.operations import DISTANCES, FOLLOWS
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.provenance import Provenance, next_order
from autograd_doctor.reading.regions import region_of
from autograd_doctor.reading.tensors_in import tensors_in
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.operations import Operation

How = Literal["updated", "compared", "put back"]
_COMPARISONS = DISTANCES | {"dist"}


class SelfAverages(Instrument):
    """An alias that is older than the last step was kept to be another tensor; one made just now is a way to write.

    The lineage knows of which parameter a tensor is an alias. An alias that is copied back into its parameter was kept
    for that if it is older than the last value that the parameter was given; where a line copies other values into
    other parameters as well, some of a model are shared, and all is well.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (WeightsMetThemselves,)

    def __init__(self, site: Site, course: Course, parameters: Parameters, tensors: Tensors, lineage: Lineage) -> None:
        super().__init__(site)
        self._course = course
        self._parameters = parameters
        self._tensors = tensors
        self._since = next_order()
        self._met: dict[tuple[Place | None, How], tuple[list[int], Place | None]] = {}
        self._written: dict[int, int] = {}
        self._given: dict[Place | None, set[int]] = {}

    def connect(self, signals: Signals) -> None:
        names = FOLLOWS | _COMPARISONS
        self.listen(signals.operations.ended, self._operation_ended, attention=Attention.FULL, names=names)
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.FULL)

    def _operation_ended(self, operation: Operation) -> None:
        if self._course.running is None and operation.args:
            (self._updated if operation.name in FOLLOWS else self._compared)(operation)

    def _updated(self, operation: Operation) -> None:
        target = operation.args[0]
        made = self._tensors.get(target) if isinstance(target, torch.Tensor) else None
        self._put_back(operation, made)
        if made is None or made.alias_of is None or made.born > self._since or self._parameters.get(target) is not None:
            return
        region, others = region_of(target), tensors_in((*operation.args[1:], *operation.kwargs.values()))
        if region is not None and any(region_of(other) == region for other in others):
            self._meet(operation, "updated", made.alias_of, made.created_at)

    def _put_back(self, operation: Operation, made: Provenance | None) -> None:
        """Into a parameter, by itself or by an alias that was made for it."""
        target, source = operation.args[0], operation.args[1] if len(operation.args) > 1 else None
        number = self._parameters.get(target)
        if number is None and made is not None and made.born > self._since:
            number = made.alias_of
        if number is None or operation.name != "copy_" or not isinstance(source, torch.Tensor):
            return
        kept, region = self._tensors.get(source), region_of(target)
        if region is None or region_of(source) != region or source is target:
            self._given.setdefault(operation.place, set()).add(number)
            self._written[number] = next_order()
        elif kept is None or kept.born < self._written.get(number, self._since):
            self._meet(operation, "put back", number, kept.created_at if kept is not None else None)

    def _compared(self, operation: Operation) -> None:
        """A parameter with what was kept of it, also when nobody saw that being made."""
        operands = tensors_in(operation.args[:2])
        for one, other in permutations(operands) if len(operands) == 2 else ():
            number, made = self._parameters.get(one), self._tensors.get(other)
            if number is None or other is one or (made is not None and made.born > self._since):
                continue
            region = region_of(one)
            if region is not None and region_of(other) == region:
                self._meet(operation, "compared", number, made.created_at if made is not None else None)

    def _meet(self, operation: Operation, how: How, parameter: int, made_at: Place | None) -> None:
        self._met.setdefault((operation.place, how), ([], made_at))[0].append(parameter)

    def _step_taken(self, course: Course) -> None:
        self.finish()
        self._since = next_order()

    def finish(self) -> None:
        """State what has met since the last step."""
        for (place, how), (parameters, made_at) in self._met.items():
            if how == "put back" and not self._given.get(place, set()) <= set(parameters):
                continue
            self.emit(
                WeightsMetThemselves(
                    step=self._course.steps,
                    parameters=sorted(set(parameters)),
                    kept_at=locate(made_at),
                    location=locate(place),
                    how=how,
                )
            )
        self._met.clear()
        self._given.clear()
        self._written.clear()
