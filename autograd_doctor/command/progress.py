"""What a person who waits wants to know: how far the run is, in which phase, and the loss."""

from __future__ import annotations

import time

from autograd_doctor.events.event import Event
from autograd_doctor.events.run import LightStepsCounted, RunStarted
from autograd_doctor.events.steps import BackwardRan, ForwardRan, OptimizerStepped


class Progress:
    """Listens to the events of a run and says in one line where it is."""

    def __init__(self, steps: int) -> None:
        self._wanted = steps
        self._taken = 0
        self._phase = "starting"
        self._loss: float | None = None
        self._began = time.monotonic()

    def __call__(self, event: Event) -> None:
        if isinstance(event, RunStarted):
            self._phase = "before the first step"
        elif isinstance(event, BackwardRan):
            self._phase = "training"
            self._loss = event.loss if event.loss is not None else self._loss
        elif isinstance(event, OptimizerStepped) and not event.skipped:
            self._taken = max(self._taken, event.step + 1)
        elif isinstance(event, LightStepsCounted):
            self._taken = max(self._taken, event.step)
            self._loss = event.loss if event.loss is not None else self._loss
        elif isinstance(event, ForwardRan) and not event.grad_enabled:
            self._phase = "evaluation"

    def line(self) -> str:
        """ "step 12 of 30 · training · loss 0.7341 · 3 s"; "step 162 · …" of one that goes on until its time is up."""
        more = f" of {self._wanted}" if self._taken <= self._wanted else ""
        parts = [f"step {self._taken}{more}"] if self._taken else []
        parts.append(self._phase)
        if self._loss is not None:
            parts.append(f"loss {self._loss:.4g}")
        return " · ".join([*parts, f"{time.monotonic() - self._began:.0f} s"])
