"""Accelerate: `Accelerator(log_with=DoctorMonitor())`, beside other trackers in a list."""

from __future__ import annotations

from accelerate.tracking import GeneralTracker

from autograd_doctor.api.monitoring import Monitor
from autograd_doctor.integrations.trainings import Monitoring

if not hasattr(GeneralTracker, "start"):
    raise ImportError("autograd_doctor.integrations.accelerate: trackers of this accelerate have no `start`; update it")


class DoctorMonitor(Monitoring, GeneralTracker):  # type: ignore[misc]
    """Monitors from `init_trackers()` to `end_training()`. Takes what `monitor` takes.

    A tracker is given what others log, and has no way to add to it: log `metrics()` with your own numbers. Accelerate
    knows trackers in the main process alone: in the others, `start()` and `finish()` are the program's to call. Where a
    training raises, nobody is told: the monitor is over with the process then, or with the next `init_trackers()`.
    """

    name = "doctor"
    requires_logging_directory = False
    main_process_only = False

    @property
    def tracker(self) -> Monitor | None:
        """The same, as `accelerator.get_tracker("doctor", unwrap=True)` gives it."""
        return self._trainings.monitor

    def metrics(self) -> dict[str, float]:
        """See `Monitor.metrics`; empty before `init_trackers()`."""
        return self._trainings.metrics()

    def start(self) -> None:
        """Called by `init_trackers()` in the main process."""
        self._trainings.begin_alone()

    def finish(self) -> None:
        """Called by `end_training()` in the main process."""
        self._trainings.end()
