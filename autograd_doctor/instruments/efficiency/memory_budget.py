"""What training holds in memory: weights, their gradients, the state of optimizers, and what graphs keep."""

from __future__ import annotations

from typing import ClassVar

from autograd_doctor.events.efficiency import MemoryBudgeted
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.efficiency.iteration_times import Iteration, IterationTimes
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.modules import Modules
from autograd_doctor.instruments.spine.optimizers import Optimizers
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.reading.counted_storages import CountedStorages
from autograd_doctor.reading.graph_bytes import saved_bytes
from autograd_doctor.reading.module_tree import buffers_in
from autograd_doctor.reading.subclasses import gradient_of
from autograd_doctor.reading.tensors_in import EVERYTHING, tensors_in
from autograd_doctor.reading.torch_versions import highest_allocated
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.signals.optimizers import StepCall

_ITERATIONS = 3
"""From which the largest graphs are taken."""


class MemoryBudget(Instrument):
    """Adds up storages in some iterations that are recorded."""

    emits: ClassVar[tuple[type[Event], ...]] = (MemoryBudgeted,)

    def __init__(
        self,
        site: Site,
        course: Course,
        parameters: Parameters,
        modules: Modules,
        optimizers: Optimizers,
        iteration_times: IterationTimes,
    ) -> None:
        super().__init__(site)
        self._course = course
        self._parameters = parameters
        self._modules = modules
        self._optimizers = optimizers
        self._iterations = iteration_times
        self._activations = 0
        self._gradients = 0
        self._counted_gradients = CountedStorages()
        self._now: MemoryBudgeted | None = None
        self._seen = 0

    def connect(self, signals: Signals) -> None:
        self.listen(signals.backward.began, self._backward_began, attention=Attention.FULL)
        self.listen(signals.steps.began, self._step_began, attention=Attention.FULL)
        self.listen(self._iterations.over, self._over)

    def finish(self) -> None:
        if self._now is not None:
            self.emit(self._now)

    def _budget(self) -> MemoryBudgeted:
        weights = [parameter for _, parameter in self._parameters.living()]
        buffers = [buffer for _, module in self._modules.living() for _, buffer in buffers_in(module)]
        states = [optimizer.state for _, optimizer in self._optimizers.living()]
        counted = CountedStorages()
        return MemoryBudgeted(
            step=self._course.steps,
            parameters=counted.add(weights),
            buffers=counted.add(buffers),
            gradients=self._gradients,
            optimizer=counted.add(tensors_in(states, EVERYTHING)),
            activations=self._activations,
            highest=highest_allocated(),
        )

    def _backward_began(self, call: BackwardCall) -> None:
        if self._seen < _ITERATIONS:
            self._activations = max(self._activations, saved_bytes(call.roots).bytes)

    def _step_began(self, call: StepCall) -> None:
        if self._seen < _ITERATIONS:
            gradients = (gradient_of(parameter) for _, parameter in self._parameters.living())
            self._gradients += self._counted_gradients.add(each for each in gradients if each is not None)

    def _over(self, iteration: Iteration) -> None:
        if iteration.recorded and self._seen < _ITERATIONS:
            self._seen += 1
            self._now = self._budget()
            self._gradients, self._counted_gradients = 0, CountedStorages()
