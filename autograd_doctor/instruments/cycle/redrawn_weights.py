"""Trained weights that the program draws anew, while their optimizer goes on."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch.optim import Optimizer

from autograd_doctor.events.cycle import WeightsDrawnAnew
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.optimizers import Optimizers
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.reading.optimizer_groups import parameters_of
from autograd_doctor.reading.places import Place, locate, place
from autograd_doctor.reading.regions import region_of
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.operations import Operation
from autograd_doctor.signals.optimizers import StepCall

_DRAWS = frozenset({"exponential_", "normal_", "uniform_"})
_MOST_TOLD = 64
"""Times: what is done so often is done in every round of a loop."""


class RedrawnWeights(Instrument):
    """Listens to initialisations of matrices that an optimizer holds, and tells of them when it steps next.

    In light steps as well: an epoch begins in any. Biases begin at zero, and tell nothing. Those that the program
    writes itself, as `weight.data.normal_()`, are seen where operations are.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (WeightsDrawnAnew,)

    def __init__(self, site: Site, course: Course, parameters: Parameters, optimizers: Optimizers) -> None:
        super().__init__(site)
        self._course = course
        self._parameters = parameters
        self._optimizers = optimizers
        self._since: dict[int, int] = {}
        """The step in which weights were drawn last, or met first."""
        self._drawn: dict[int, Place | None] = {}
        self._told: list[WeightsDrawnAnew] = []

    def connect(self, signals: Signals) -> None:
        self.listen(signals.initialisers.drawn, self._draws)
        self.listen(signals.operations.ended, self._draws_itself, attention=Attention.FULL, names=_DRAWS)

    def memory(self) -> tuple[dict[int, int], list[WeightsDrawnAnew]]:
        return self._since, self._told

    def remember(self, memory: tuple[dict[int, int], list[WeightsDrawnAnew]]) -> None:
        """Told again, as rules ask how often it was done."""
        self._since, self._told = memory
        for event in self._told:
            self.emit(event)

    def _draws_itself(self, operation: Operation) -> None:
        """Over a weight as a whole, by an alias or without gradients; a part may be what has died."""
        target = operation.args[0] if operation.args else None
        if self._course.steps and isinstance(target, torch.Tensor) and (region := region_of(target)) is not None:
            filled = (each for _, each in self._parameters.living() if region_of(each) == region)
            for parameter in filled:
                self._draws(parameter)

    def _draws(self, tensor: torch.Tensor) -> None:
        number = self._parameters.get(tensor)
        if number is None or tensor.dim() < 2 or not self._optimizers.holds(number) or len(self._told) >= _MOST_TOLD:
            return
        if self._course.steps > self._since.get(number, 0):
            if not self._drawn:
                self.listen(self._site.signals.steps.began, self._began)
            self._drawn.setdefault(number, place())

    def _began(self, call: StepCall) -> None:
        optimizer = call.optimizer
        held = {number: each for each in parameters_of(optimizer) if (number := self._parameters.get(each)) is not None}
        drawn = {number: held[number] for number in self._drawn if number in held}
        if drawn:
            self._tell(optimizer, drawn, sum(each.dim() > 1 and each.requires_grad for each in held.values()))
        for number in drawn:
            self._since[number] = self._course.steps
            del self._drawn[number]
        if not self._drawn:
            self.unlisten(self._site.signals.steps.began, self._began)

    def _tell(self, optimizer: Optimizer, drawn: dict[int, torch.Tensor], matrices: int) -> None:
        event = WeightsDrawnAnew(
            step=self._course.steps,
            optimizer=self._optimizers.known(optimizer),
            parameters=sorted(drawn),
            location=locate(next(iter(self._drawn[number] for number in drawn))),
            steps=self._course.steps - max(self._since.get(number, 0) for number in drawn),
            keeps_state=all(optimizer.state.get(each) for each in drawn.values()),
            of=matrices,
        )
        self._told.append(event)
        self.emit(event)
