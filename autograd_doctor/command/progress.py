"""What a person who waits wants to know: what is being done, how far it is, how long it will take, and the loss."""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import monotonic

from autograd_doctor.config import Settings
from autograd_doctor.events.event import Event
from autograd_doctor.events.run import LightStepsCounted, RunEnded, RunStarted
from autograd_doctor.events.steps import BackwardRan, ForwardRan, OptimizerStepped
from autograd_doctor.serving.told_progress import Told, line_of

_QUIET = 15.0
"""Seconds without a step that are said: one that hangs is told after a minute only."""


class Progress:
    """Listens to the events of a run and says in one line where it is. `run` is what it is called, if not the first."""

    def __init__(self, settings: Settings, run: str = "", clock: Callable[[], float] = monotonic) -> None:
        self._settings = settings
        self._run = run
        self._clock = clock
        self._began = clock()
        self._trained_since: float | None = None
        self._stepped_at = self._began
        self._taken = 0
        self._phase = "starting"
        self._loss: float | None = None

    def __call__(self, event: Event) -> None:
        if isinstance(event, RunStarted):
            self._phase = "before the first step"
        elif isinstance(event, RunEnded):
            self._phase = "judging"
        elif isinstance(event, BackwardRan):
            self._trains()
            self._loss = event.loss if event.loss is not None else self._loss
        elif isinstance(event, OptimizerStepped) and not event.skipped:
            self._trains()
            self._taken = max(self._taken, event.step + 1)
        elif isinstance(event, LightStepsCounted):
            self._trains()
            self._taken = max(self._taken, event.step)
            self._loss = event.loss if event.loss is not None else self._loss
        elif isinstance(event, ForwardRan) and not event.grad_enabled:
            self._phase = "evaluation"

    def _trains(self) -> None:
        self._phase = "training"
        self._stepped_at = self._clock()
        if self._trained_since is None:
            self._trained_since = self._stepped_at

    def line(self) -> str:
        """ "training · step 12 of 30 · 3 of 10 s · loss 0.7341", and "… step 162 · 14 s, 60 at most · …" later on."""
        now = self._clock()
        said = [self._run, self._phase]
        if self._taken:
            wanted = self._settings.steps
            said.append(f"step {self._taken} of {wanted}" if self._taken <= wanted else f"step {self._taken}")
        said.append(self._time(now))
        quiet = now - self._stepped_at
        if self._phase == "training" and quiet >= _QUIET:
            said.append(f"no step for {quiet:.0f} s")
        elif self._loss is not None:
            said.append(f"loss {self._loss:.4g}")
        return " · ".join(filter(None, said))

    def _time(self, now: float) -> str:
        """Seconds of training, with the limit that counts next; before that, seconds of waiting."""
        since = self._began if self._trained_since is None else self._trained_since
        seconds, least, most = now - since, self._settings.seconds, self._settings.max_seconds
        if self._trained_since is None or self._phase == "judging":
            return f"{seconds:.0f} s"
        return f"{seconds:.0f} of {least:g} s" if seconds < least else f"{seconds:.0f} s of at most {most:g}"


_TOLD_EVERY = 1.0


class ToldProgress(Progress):
    """The same for a process that follows, at most once a second."""

    def __init__(self, settings: Settings, run: str = "", clock: Callable[[], float] = monotonic) -> None:
        super().__init__(settings, run, clock)
        self._told_at = self._began - _TOLD_EVERY

    def __call__(self, event: Event) -> None:
        super().__call__(event)
        now = self._clock()
        if now >= self._told_at + _TOLD_EVERY:
            self._told_at = now
            print(line_of(Told(self._taken, self._settings.steps, self.line())), file=sys.stderr, flush=True)
