"""Gradients of steps that were not recorded, where the loss tells that they are out of the ordinary."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Collection
from statistics import median
from typing import ClassVar

from autograd_doctor.events.event import Event
from autograd_doctor.events.numerics import GradientMeasured
from autograd_doctor.instruments.cycle.loss_scales import LossScales
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course, RunningStep
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.instruments.spine.late_losses import LateLosses
from autograd_doctor.instruments.spine.optimizers import Optimizers
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.reading.optimizer_groups import parameters_of
from autograd_doctor.reading.places import here
from autograd_doctor.reading.tensor_facts import norms
from autograd_doctor.signals import Signals
from autograd_doctor.signals.optimizers import StepCall

_WINDOW = 20
"""Losses that are remembered, of each optimizer: what is ordinary changes as training goes on."""
_ENOUGH = 5
_STANDS_OUT = 4.0
"""A loss so many times as large as the median of those before is measured: it costs one look at the gradients."""
_MOST_LOOKS = 20
_TOO_LATE = "a loss on an accelerator stood out, and when that was known the gradients of its step were gone"


class GradientSpikes(Instrument):
    """Measures gradients in light steps whose loss stands out; those of recorded steps are measured anyway."""

    emits: ClassVar[tuple[type[Event], ...]] = (GradientMeasured,)

    def __init__(
        self,
        site: Site,
        course: Course,
        detail: Detail,
        parameters: Parameters,
        optimizers: Optimizers,
        late_losses: LateLosses,
        loss_scales: LossScales,
    ) -> None:
        super().__init__(site)
        self._guard = site.signals.guard
        self._course = course
        self._detail = detail
        self._parameters = parameters
        self._optimizers = optimizers
        self._loss_scales = loss_scales
        self._late_losses = late_losses
        self._losses: dict[int, deque[float]] = {}
        self._looks = 0
        self._ending: StepCall | None = None

    def connect(self, signals: Signals) -> None:
        """A step leaves the gradients as they are."""
        self.listen(signals.steps.ended, self._ended, bare=True)

    def _ended(self, call: StepCall) -> None:
        number, is_full = self._optimizers.known(call.optimizer), self._detail.full
        self._ending = call
        self._course.when_loss_known(self, lambda loss: self._known(number, loss, is_full=is_full))
        self._ending = None

    def _known(self, number: int, loss: float | None, *, is_full: bool) -> None:
        if loss is None or not math.isfinite(loss):
            return
        losses = self._losses.get(number)
        if losses is None:
            losses = self._losses[number] = deque(maxlen=_WINDOW)
        is_ordinary = is_full or self._looks >= _MOST_LOOKS or not _stands_out(loss, losses)
        losses.append(abs(loss))
        if is_ordinary:
            return
        if self._ending is None:
            self.limited(_TOO_LATE)
            return
        with self._guard.looking():
            self._measure(number, self._ending, loss)

    def _measure(self, number: int, call: StepCall, loss: float) -> None:
        if RunningStep(call.optimizer).skipped:
            return
        self._looks += 1
        held = [(self._parameters.number(p), p.grad) for p in parameters_of(call.optimizer) if p.grad is not None]
        scale = float(self._loss_scales.at_step(call.optimizer))
        self.emit(
            GradientMeasured(
                step=self._course.steps,
                optimizer=number,
                location=here(),
                parameters=[number for number, _ in held],
                norms=[norm / scale for norm in norms([gradient for _, gradient in held])],
                loss=loss,
            )
        )


def _stands_out(loss: float, before: Collection[float]) -> bool:
    """before: absolute values. Their median is looked for only where the smallest one leaves it possible: that is asked
    in every light step."""
    return len(before) >= _ENOUGH and abs(loss) > _STANDS_OUT * min(before) and abs(loss) > _STANDS_OUT * median(before)
