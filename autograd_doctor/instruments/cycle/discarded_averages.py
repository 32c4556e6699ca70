"""Averages of a parameter that learns and one that is to follow it, which die before anything has taken them in."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from autograd_doctor.events.cycle import AveragesDiscarded
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.lineage import Lineage
from autograd_doctor.instruments.spine.optimizers import Optimizers
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.instruments.spine.tensors import Tensors
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.provenance import has_graph
from autograd_doctor.reading.subclasses import version_of
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.operations import Operation
from autograd_doctor.tape import numbers_in

_AVERAGES = frozenset({"add", "__radd__", "lerp", "sub"})
_MOST_STEPS = 8
"""Steps in which it is told: enough to see that it happens again and again."""


@dataclass(slots=True)
class _Average:
    """The parameter that was to follow, its version then, and the line; the values, which are not kept alive."""

    number: int
    version: int
    place: Place | None
    tensor: weakref.ref[torch.Tensor]
    storage: StorageWeakRef


class DiscardedAverages(Instrument):
    """Follows what is computed of exactly two parameters of its shape, of which one optimizer holds one.

    Listens to every operation only while there is such a value. The lineage says what has flowed into it.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (AveragesDiscarded,)

    def __init__(
        self,
        site: Site,
        course: Course,
        parameters: Parameters,
        optimizers: Optimizers,
        tensors: Tensors,
        lineage: Lineage,
    ) -> None:
        super().__init__(site)
        self._course = course
        self._parameters = parameters
        self._optimizers = optimizers
        self._tensors = tensors
        self._operations = site.signals.operations
        self._followed: dict[int, _Average] = {}
        self._lost: dict[int, _Average] = {}
        self._told = 0
        self._by_number: dict[int, weakref.ref[torch.Tensor]] = {}

    def connect(self, signals: Signals) -> None:
        self.listen(self._operations.ended, self._averaged, attention=Attention.FULL, names=_AVERAGES)
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.FULL)

    def finish(self) -> None:
        """State what the last step has lost."""
        if not self._lost:
            return
        lost = {number: average for number, average in self._lost.items() if self._is_in_vain(number, average)}
        self._lost.clear()
        if lost and self._told < _MOST_STEPS:
            self._told += 1
            first = next(iter(lost.values()))
            self.emit(AveragesDiscarded(step=self._course.steps, parameters=sorted(lost), location=locate(first.place)))

    def _is_in_vain(self, number: int, average: _Average) -> bool:
        """Whether the values are gone and the parameter is as it was."""
        parameter = self._living(number)
        return average.storage.expired() and parameter is not None and version_of(parameter) == average.version

    def _living(self, number: int) -> torch.Tensor | None:
        """A parameter by its number, looked up once for all of a step."""
        if not self._by_number:
            self._by_number = {known: weakref.ref(parameter) for known, parameter in self._parameters.living()}
        reference = self._by_number.get(number)
        return reference() if reference is not None else None

    def _step_taken(self, course: Course) -> None:
        """What outlives its step was put somewhere, and may be read at the end."""
        self._followed.clear()
        self.finish()
        self._by_number.clear()

    def _averaged(self, operation: Operation) -> None:
        result = operation.result
        if self._course.running is not None or not isinstance(result, torch.Tensor) or has_graph(result):
            return
        made = self._tensors.get(result)
        numbers = numbers_in(made.values) if made is not None and not made.guessed else []
        follower = self._follower(numbers) if len(numbers) == 2 else None
        both = [self._living(number) for number in numbers] if follower is not None else []
        if follower is None or any(each is None or each.shape != result.shape for each in both):
            return
        parameter = self._living(follower)
        if parameter is not None:
            self._follow(result, follower, parameter, operation.place)

    def _follower(self, numbers: list[int]) -> int | None:
        """That of the two parameters which no optimizer holds, if one holds the other."""
        free = [number for number in numbers if not self._optimizers.holds(number)]
        return free[0] if len(free) == 1 else None

    def _follow(self, result: torch.Tensor, number: int, parameter: torch.Tensor, place: Place | None) -> None:
        key, this = id(result), weakref.ref(self)

        def died(reference: weakref.ref[torch.Tensor]) -> None:
            instrument = this()
            average = instrument._followed.get(key) if instrument is not None else None
            if instrument is not None and average is not None and average.tensor is reference:
                del instrument._followed[key]
                instrument._lost[average.number] = average

        reference, storage = weakref.ref(result, died), StorageWeakRef(result.untyped_storage())
        self._followed[key] = _Average(number, version_of(parameter), place, reference, storage)
        self.listen(self._operations.ended, self._used)

    def _used(self, operation: Operation) -> None:
        """Whatever takes it in has a use for it."""
        for tensor in operation.inputs:
            average = self._followed.get(id(tensor))
            if average is not None and average.tensor() is tensor and operation.result is not tensor:
                del self._followed[id(tensor)]
        if not self._followed:
            self.unlisten(self._operations.ended, self._used)
