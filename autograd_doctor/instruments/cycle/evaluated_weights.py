"""Weights that are written before an evaluation, and that training goes on from."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import ClassVar

import torch

from autograd_doctor.events.cycle import EvaluatedWeightsKept
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.module_calls import ModuleCalls, RootBegan
from autograd_doctor.instruments.spine.optimizers import Optimizers
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.reading.module_tree import parameters_in
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.probes import ends
from autograd_doctor.reading.subclasses import storage_address, version_of
from autograd_doctor.signals import Signals
from autograd_doctor.signals.optimizers import StepCall

_MOST_MODULES = 16

_Written = tuple[tuple[int, int], ...]
"""Of weights, how often they were written to, and where they lie."""


@dataclass
class _Weights:
    """The first and the last trained ones of a module. left: as the last step left them. met: as an evaluation met
    them, if they had been written in between. times: that training went on from what it met, of so many evaluations;
    step: of the latest. are_always_written: between steps without an evaluation as well, as by a decay or a projection.
    """

    parameters: list[weakref.ref[torch.Tensor]]
    numbers: list[int]
    left: _Written = ()
    met: _Written = ()
    where: Place | None = None
    times: int = 0
    evaluations: int = 0
    step: int = -1
    are_always_written: bool = False

    def written(self) -> _Written:
        living = (parameter for reference in self.parameters if (parameter := reference()) is not None)
        return tuple((version_of(each), storage_address(each)) for each in living)


class EvaluatedWeights(Instrument):
    """Compares how often weights were written to, which waits for nothing. What is swapped in for an evaluation, and
    out again before the next step, is none of its concern.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (EvaluatedWeightsKept,)

    def __init__(
        self, site: Site, course: Course, module_calls: ModuleCalls, parameters: Parameters, optimizers: Optimizers
    ) -> None:
        super().__init__(site)
        self._course = course
        self._module_calls = module_calls
        self._parameters = parameters
        self._optimizers = optimizers
        self._known: dict[int, _Weights] = {}

    def connect(self, signals: Signals) -> None:
        self.listen(self._module_calls.root_began, self._root_began)
        self.listen(signals.steps.began, self._step_began)
        self.listen(self._course.step_taken, self._step_taken)

    def finish(self) -> None:
        for module, weights in self._known.items():
            if weights.times and not weights.are_always_written:
                self.emit(
                    EvaluatedWeightsKept(
                        step=self._course.steps,
                        module=module,
                        location=locate(weights.where),
                        times=weights.times,
                        evaluations=weights.evaluations,
                        parameters=weights.numbers,
                    )
                )

    def _root_began(self, began: RootBegan) -> None:
        """The first of an evaluation."""
        if began.call.grad_enabled or not self._course.steps:
            return
        known = self._known.get(began.module)
        if known is None:
            self._know(began)
        elif known.left and known.step != self._course.steps:
            is_apart = self._course.steps > known.step + 1  # who acts in each step evaluates nothing
            known.step = self._course.steps
            known.evaluations += 1
            now = known.written()
            if is_apart and all(new != old for new, old in zip(now, known.left, strict=False)):
                known.met, known.where = now, began.where

    def _know(self, began: RootBegan) -> None:
        if len(self._known) >= _MOST_MODULES:
            return
        found = [(self._parameters.get(each), each) for _, each in parameters_in(began.call.module)]
        trained = {number: each for number, each in found if number is not None and self._optimizers.holds(number)}
        if trained:
            some = ends(list(trained.values()))
            self._known[began.module] = _Weights([weakref.ref(each) for each in some], sorted(trained))

    def _step_began(self, call: StepCall) -> None:
        for weights in self._known.values():
            if weights.met:
                weights.times += weights.written() == weights.met
                weights.met = ()
            elif weights.left and weights.step != self._course.steps:
                weights.are_always_written |= weights.written() != weights.left

    def _step_taken(self, course: Course) -> None:
        for weights in self._known.values():
            weights.left = weights.written()
