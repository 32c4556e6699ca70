"""Trained weights that the program draws anew, while their optimizer goes on."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import torch
from torch.optim import Optimizer

from autograd_doctor.events.cycle import WeightsDrawnAnew
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.optimizers import Optimizers
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.reading.module_tree import parameters_in
from autograd_doctor.reading.optimizer_groups import parameters_of
from autograd_doctor.reading.places import Place, locate, place
from autograd_doctor.reading.probes import Probe, probe
from autograd_doctor.reading.regions import region_of
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.loads import OptimizerLoad
from autograd_doctor.signals.operations import Operation
from autograd_doctor.signals.optimizers import StepCall
from autograd_doctor.signals.states import StateLoad

_DRAWS = frozenset({"exponential_", "normal_", "uniform_"})
_MOST_TOLD = 64
"""Times: what is done so often is done in every round of a loop."""
_MOST_LOADED = 10_000


class _Loaded(NamedTuple):
    """Some values of a weight when it was loaded last, and the steps that had been taken."""

    step: int
    values: Probe


class _Drawn(NamedTuple):
    """A weight that begins anew with the next step. loaded: what it should hold then, where that was loaded."""

    place: Place | None
    loaded: Probe | None = None


class RedrawnWeights(Instrument):
    """Listens to initialisations of matrices that an optimizer holds, and tells of them when it steps next.

    In light steps as well: an epoch begins in any. Biases begin at zero, and tell nothing. Those that the program
    writes itself, as `weight.data.normal_()`, are seen where operations are. What a module loads once more, after it
    has learned something else, is as good as drawn: it begins there again.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (WeightsDrawnAnew,)

    def __init__(self, site: Site, course: Course, parameters: Parameters, optimizers: Optimizers) -> None:
        super().__init__(site)
        self._course = course
        self._parameters = parameters
        self._optimizers = optimizers
        self._since: dict[int, int] = {}
        """The step in which weights were drawn last, or met first."""
        self._drawn: dict[int, _Drawn] = {}
        self._loaded: dict[int, _Loaded] = {}
        self._restored: dict[int, int] = {}
        """The steps after which the optimizers of weights were given a state."""
        self._told: list[WeightsDrawnAnew] = []

    def connect(self, signals: Signals) -> None:
        self.listen(signals.initialisers.drawn, self._draws)
        self.listen(signals.states.loaded, self._loads)
        self.listen(signals.loads.restored, self._restores)
        self.listen(signals.operations.ended, self._draws_itself, attention=Attention.FULL, names=_DRAWS)

    def memory(self) -> tuple[dict[int, int], dict[int, _Loaded], list[WeightsDrawnAnew]]:
        return self._since, self._loaded, self._told

    def remember(self, memory: tuple[dict[int, int], dict[int, _Loaded], list[WeightsDrawnAnew]]) -> None:
        """Told again, as rules ask how often it was done."""
        self._since, self._loaded, self._told = memory
        for event in self._told:
            self.emit(event)

    def _draws_itself(self, operation: Operation) -> None:
        """Over a weight as a whole, by an alias or without gradients; a part may be what has died."""
        target = operation.args[0] if operation.args else None
        if self._course.steps and isinstance(target, torch.Tensor) and (region := region_of(target)) is not None:
            filled = (each for _, each in self._parameters.living() if region_of(each) == region)
            for parameter in filled:
                self._draws(parameter)

    def _loads(self, load: StateLoad) -> None:
        step = self._course.steps
        for _, parameter in parameters_in(load.module):
            number = self._taught(parameter)
            values = [] if number is None else probe([parameter])
            known = self._loaded.get(number) if number is not None else None
            if number is None or not values or (known is None and len(self._loaded) >= _MOST_LOADED):
                continue
            if known is not None and known.step < step and known.values == values:
                self._draws(parameter, loaded=values)
            self._loaded[number] = _Loaded(step, values)

    def _restores(self, load: OptimizerLoad) -> None:
        """Its averages may be those of the weights that are loaded with them."""
        numbers = map(self._taught, parameters_of(load.optimizer))
        self._restored.update({number: self._course.steps for number in numbers if number is not None})

    def _taught(self, tensor: torch.Tensor) -> int | None:
        """The number of a matrix that an optimizer holds."""
        number = self._parameters.get(tensor)
        return number if number is not None and tensor.dim() > 1 and self._optimizers.holds(number) else None

    def _draws(self, tensor: torch.Tensor, loaded: Probe | None = None) -> None:
        number = self._taught(tensor)
        if number is None or len(self._told) >= _MOST_TOLD or self._course.steps <= self._since.get(number, 0):
            return
        if not self._drawn:
            self.listen(self._site.signals.steps.began, self._began)
        self._drawn.setdefault(number, _Drawn(place(), loaded))
        if self._site.signals.guard.nap is not None:
            self._site.signals.guard.nap.wake()

    def _began(self, call: StepCall) -> None:
        optimizer = call.optimizer
        held = {number: each for each in parameters_of(optimizer) if (number := self._parameters.get(each)) is not None}
        of = sum(each.dim() > 1 and each.requires_grad for each in held.values())
        met = {number: held[number] for number in self._drawn if number in held}
        begun = {number: each for number, each in met.items() if self._begins_anew(number, each)}
        if begun:
            self._tell(optimizer, begun, of)
        self._since.update(dict.fromkeys(begun, self._course.steps))
        for number in met:
            del self._drawn[number]
        if not self._drawn:
            self.unlisten(self._site.signals.steps.began, self._began)

    def _begins_anew(self, number: int, weight: torch.Tensor) -> bool:
        """What was loaded may have been swapped in for an evaluation, or with a state of the optimizer."""
        loaded = self._drawn[number].loaded
        is_whole = self._restored.get(number) == self._course.steps
        return loaded is None or (not is_whole and probe([weight]) == loaded)

    def _tell(self, optimizer: Optimizer, drawn: dict[int, torch.Tensor], matrices: int) -> None:
        event = WeightsDrawnAnew(
            step=self._course.steps,
            optimizer=self._optimizers.known(optimizer),
            parameters=sorted(drawn),
            location=locate(self._drawn[next(iter(drawn))].place),
            steps=self._course.steps - max(self._since.get(number, 0) for number in drawn),
            keeps_state=all(optimizer.state.get(each) for each in drawn.values()),
            of=matrices,
            loaded=any(self._drawn[number].loaded is not None for number in drawn),
        )
        self._told.append(event)
        self.emit(event)
