"""Gradients of some steps that are not recorded, so that they can be drawn without long gaps."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import ClassVar, NamedTuple

import torch
from torch.optim import Optimizer

from autograd_doctor.events.event import Event
from autograd_doctor.events.steps import GradientNormsMeasured
from autograd_doctor.instruments.cycle.loss_scales import LossScales
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.instruments.spine.late_values import LateValues
from autograd_doctor.instruments.spine.optimizers import Optimizers
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.reading.looks import is_drawn
from autograd_doctor.reading.optimizer_groups import parameters_of
from autograd_doctor.reading.tensor_facts import ComingNorms, norms_to_come
from autograd_doctor.reading.without_running import attributes
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.signals.optimizers import StepCall


class _Measured(NamedTuple):
    """Gradients of a step. scale: what they are multiplied by."""

    step: int
    parameters: list[int]
    norms: ComingNorms
    scale: torch.Tensor


class GradientNorms(Instrument):
    """Measures gradients in light steps, and reads the numbers of the last ones when the next backward begins, or
    later where they lie on an accelerator."""

    emits: ClassVar[tuple[type[Event], ...]] = (GradientNormsMeasured,)

    def __init__(
        self,
        site: Site,
        course: Course,
        detail: Detail,
        parameters: Parameters,
        optimizers: Optimizers,
        loss_scales: LossScales,
        late_values: LateValues,
    ) -> None:
        super().__init__(site)
        self._course = course
        self._detail = detail
        self._parameters = parameters
        self._optimizers = optimizers
        self._loss_scales = loss_scales
        self._late_values = late_values
        self._pending: dict[int, _Measured] = {}
        self._asked: dict[int, int] = {}
        self._is_due: dict[int, bool] = {}

    def connect(self, signals: Signals) -> None:
        self.listen(signals.steps.began, self._began, attention=Attention.LIGHT)
        self.listen(signals.steps.closure_ended, self._closure_ended, attention=Attention.LIGHT)
        self.listen(signals.backward.began, self._backward_began, last=True, attention=Attention.LIGHT)

    def finish(self) -> None:
        self._say()

    def _began(self, call: StepCall) -> None:
        number, step = self._optimizers.known(call.optimizer), self._course.steps + 1
        self._is_due[number] = is_drawn(step, self._asked.get(number, 0))
        self._asked[number] = step
        if not call.closure:
            self._measure(number, call.optimizer)

    def _closure_ended(self, call: StepCall) -> None:
        self._measure(self._optimizers.known(call.optimizer), call.optimizer)

    def _measure(self, number: int, optimizer: Optimizer) -> None:
        """Of a closure that runs several times in a step, the last gradients count; scalers that have found infinities
        keep the optimizer from using any."""
        if self._detail.full or not self._is_due.get(number):
            return
        held = [(self._parameters.number(p), p.grad) for p in parameters_of(optimizer) if p.grad is not None]
        if not held or attributes(optimizer).get("found_inf") is not None:
            return
        norms, scale = norms_to_come([gradient for _, gradient in held]), self._loss_scales.at_step(optimizer)
        self._pending[number] = _Measured(self._course.steps, [n for n, _ in held], norms, scale)

    def _backward_began(self, call: BackwardCall) -> None:
        self._say()

    def _say(self) -> None:
        for number, measured in self._pending.items():
            tensors = [measured.scale, *measured.norms.parts]
            self._late_values.ask(self, tensors, partial(self._tell, number, measured))
        self._pending.clear()

    def _tell(self, number: int, measured: _Measured, values: Sequence[float]) -> None:
        scale, *norms = values
        self.emit(
            GradientNormsMeasured(
                step=measured.step,
                optimizer=number,
                parameters=measured.parameters,
                norms=[norm / scale for norm in measured.norms.put_together(norms)],
            )
        )
