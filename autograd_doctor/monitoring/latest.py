"""What a run comes to, as its events tell: for loggers, and for whoever watches."""

from __future__ import annotations

import math
from statistics import median

import msgspec

from autograd_doctor.events.event import Event
from autograd_doctor.events.numerics import LossesFollowed, UpdatesMeasured
from autograd_doctor.events.run import LightStepsCounted
from autograd_doctor.events.steps import BackwardRan, MemoryMeasured, OptimizerStepped
from autograd_doctor.monitoring.folder import Numbers


class Follower:
    """Keeps the latest of each number. Gradient norms are 2-norms over all parameters of an optimizer, unscaled."""

    def __init__(self) -> None:
        self._latest = Numbers(step=0)

    def latest(self) -> Numbers:
        return self._latest

    def add(self, event: Event) -> None:
        """Take note of an event."""
        known = self._latest
        if isinstance(event, OptimizerStepped) and not event.skipped:
            known = _of_step(known, event)
        elif isinstance(event, LightStepsCounted):
            known = msgspec.structs.replace(known, loss=known.loss if event.loss is None else event.loss)
        elif isinstance(event, BackwardRan) and event.loss is not None:
            known = msgspec.structs.replace(known, loss=event.loss)
        elif isinstance(event, LossesFollowed) and event.last is not None and not event.non_finite:
            known = msgspec.structs.replace(known, loss=event.last)
        elif isinstance(event, MemoryMeasured):
            known = msgspec.structs.replace(known, memory=event.allocated or event.resident)
        elif isinstance(event, UpdatesMeasured):
            ratios = [u / w for w, u in zip(event.weights, event.updates, strict=True) if w and math.isfinite(u / w)]
            if ratios:
                known = msgspec.structs.replace(known, update_ratio=median(ratios))
        self._latest = msgspec.structs.replace(known, step=max(known.step, event.step))


def _of_step(known: Numbers, event: OptimizerStepped) -> Numbers:
    norms = [norm for use in event.uses for norm in use.norms if norm is not None]
    rates = [rate for rate in event.learning_rates if rate is not None]
    return msgspec.structs.replace(
        known,
        gradient_norm=math.hypot(*norms) if norms else known.gradient_norm,
        learning_rate=max(rates, default=known.learning_rate),
    )
