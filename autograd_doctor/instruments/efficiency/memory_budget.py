"""What training holds in memory: weights, their gradients, the state of optimizers, and what graphs keep."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import torch
from msgspec.structs import replace

from autograd_doctor.events.efficiency import MemoryBudgeted, Peak
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.efficiency.graph_sizes import GraphSizes
from autograd_doctor.instruments.efficiency.iteration_times import Iteration, IterationTimes
from autograd_doctor.instruments.efficiency.line_costs import LineCosts
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.modules import Modules
from autograd_doctor.instruments.spine.optimizers import Optimizers
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.reading.counted_storages import CountedStorages
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
_MOST_PEAKS = 20


class MemoryBudget(Instrument):
    """Adds up storages in some iterations that are recorded.

    What is held at most is what was there when the iteration began, of what is counted here, and what memory rose by.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (MemoryBudgeted,)

    def __init__(
        self,
        site: Site,
        course: Course,
        parameters: Parameters,
        modules: Modules,
        optimizers: Optimizers,
        iteration_times: IterationTimes,
        line_costs: LineCosts,
        graph_sizes: GraphSizes,
    ) -> None:
        super().__init__(site)
        self._course = course
        self._parameters = parameters
        self._modules = modules
        self._optimizers = optimizers
        self._iterations = iteration_times
        self._lines = line_costs
        self._graphs = graph_sizes
        self._held: int | None = None
        self._peaks: list[Peak] = []
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
            peaks = sorted(self._peaks, key=lambda peak: peak.bytes)
            self.emit(replace(self._now, peak=peaks[len(peaks) // 2] if peaks else None))

    def _budget(self) -> MemoryBudgeted:
        buffers = [buffer for _, module in self._modules.living() for _, buffer in buffers_in(module)]
        states = [optimizer.state for _, optimizer in self._optimizers.living()]
        counted = CountedStorages()
        return MemoryBudgeted(
            step=self._course.steps,
            parameters=counted.add(parameter for _, parameter in self._parameters.living()),
            buffers=counted.add(buffers),
            gradients=self._gradients,
            optimizer=counted.add(tensors_in(states, EVERYTHING)),
            activations=self._activations,
            highest=highest_allocated(),
        )

    def _gradients_now(self) -> Iterator[torch.Tensor]:
        gradients = (gradient_of(parameter) for _, parameter in self._parameters.living())
        return (gradient for gradient in gradients if gradient is not None)

    def _backward_began(self, call: BackwardCall) -> None:
        if self._seen < _ITERATIONS:
            self._activations = max(self._activations, self._graphs.saved)

    def _step_began(self, call: StepCall) -> None:
        if self._seen < _ITERATIONS:
            self._gradients += self._counted_gradients.add(self._gradients_now())

    def _over(self, iteration: Iteration) -> None:
        if not iteration.recorded or len(self._peaks) >= _MOST_PEAKS:
            return
        is_one = self._seen < _ITERATIONS
        if is_one:
            self._gradients += self._counted_gradients.add(self._gradients_now())
        now = self._budget()
        if is_one:
            self._seen += 1
            self._now = now
            self._gradients, self._counted_gradients = 0, CountedStorages()
        self._look_at_the_peak(now)

    def _look_at_the_peak(self, now: MemoryBudgeted) -> None:
        """Of the iteration that is over; what is there now is what the next one begins with."""
        rise = self._lines.rise
        if rise is not None and self._held is not None:
            self._peaks.append(replace(rise, bytes=self._held + rise.bytes))
        self._held = now.parameters + now.buffers + now.optimizer + CountedStorages().add(self._gradients_now())
