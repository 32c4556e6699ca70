"""The trainings that an object of a framework is told of, each of which is monitored."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, ClassVar

from autograd_doctor.api.monitoring import Monitor, Prepared, prepared
from autograd_doctor.report import ReportedFinding

_OF_A_LOOK = ("doctor/gradient_norm", "doctor/update_ratio", "doctor/learning_rate")
"""Numbers that are known only of steps that were looked at closely."""


class Trainings:
    """One after the other, each a run of its own. Takes what `monitor` takes.

    monitor: of the training that goes on, else of the last one; None before the first, and in other processes.
    """

    _latest: ClassVar[Trainings | None] = None
    """Whose training began last, of those that are told of no exception."""

    def __init__(
        self,
        trace: str | os.PathLike[str],
        budget: float,
        on_finding: Callable[[ReportedFinding], object] | None,
        stop_on: str | None,
        checkpoint: str | os.PathLike[str] | None,
        settings: dict[str, Any],
    ) -> None:
        self._prepared: Prepared = prepared(trace, budget, on_finding, stop_on, checkpoint, settings)
        self.monitor: Monitor | None = None
        self._is_on = False
        self._looked: dict[str, float] = {}

    def __getstate__(self) -> dict[str, Any]:
        """What is sent to another process, or copied, begins anew there."""
        return {**self.__dict__, "monitor": None, "_is_on": False}

    def begin(self) -> None:
        """A training begins. One that this object had been told of before is over."""
        self.end()
        self.monitor = self._prepared.begin()
        self._is_on = True

    def begin_alone(self) -> None:
        """The same for a framework that does not tell when a training raises: whatever was begun so before is over."""
        left, Trainings._latest = Trainings._latest, self
        if left is not None:
            left.end()
        self.begin()

    def go_on(self) -> None:
        """The training goes on, also behind something that it raised."""
        if not self._is_on:
            self.begin()

    def end(self, error: BaseException | None = None) -> None:
        """The training is over, or was before; `error` is what it raised."""
        self._is_on = False
        if self.monitor is not None:
            self.monitor.__exit__(type(error) if error is not None else None, error, None)

    def metrics(self) -> dict[str, float]:
        """See `Monitor.metrics`."""
        return self.monitor.metrics() if self.monitor is not None else {}

    def news(self) -> dict[str, float]:
        """The same for a curve: what is known of a step that was looked at is told once, and no plateau is drawn."""
        metrics = self.metrics()
        looked = {name: metrics.pop(name) for name in _OF_A_LOOK if name in metrics}
        if looked == self._looked:
            return metrics
        self._looked = looked
        return {**metrics, **looked}


class Monitoring:
    """What a framework is given, under its own base class. Takes what `monitor` takes."""

    def __init__(
        self,
        trace: str | os.PathLike[str] = "run.trace",
        *,
        budget: float = 0.01,
        on_finding: Callable[[ReportedFinding], object] | None = None,
        stop_on: str | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        **settings: Any,
    ) -> None:
        self._trainings = Trainings(trace, budget, on_finding, stop_on, checkpoint, settings)
        super().__init__()

    @property
    def monitor(self) -> Monitor | None:
        """Of the training that goes on, else of the last one in this process."""
        return self._trainings.monitor
