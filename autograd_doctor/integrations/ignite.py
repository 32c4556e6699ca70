"""Ignite: `DoctorMonitor().attach(trainer)`."""

from __future__ import annotations

from ignite.engine import Engine, Events

from autograd_doctor.integrations.trainings import Monitoring


class DoctorMonitor(Monitoring):
    """Monitors each run of the engine that trains. Takes what `monitor` takes.

    The numbers of `Monitor.metrics` are in `engine.state.metrics` after each iteration, from where Ignite's loggers
    take them: attach it before them. With `stop_on`, `TrainingStopped` passes through `run()` as any exception of the
    training does.
    """

    def attach(self, engine: Engine) -> None:
        """Watch the runs of this engine."""
        engine.add_event_handler(Events.STARTED, self._started)
        engine.add_event_handler(Events.EPOCH_STARTED, self._goes_on)
        engine.add_event_handler(Events.ITERATION_COMPLETED, self._iterated)
        engine.add_event_handler(Events.TERMINATE, self._completed)
        engine.add_event_handler(Events.COMPLETED, self._completed)
        engine.add_event_handler(Events.EXCEPTION_RAISED, self._raised)

    def _started(self, engine: Engine) -> None:
        self._trainings.begin()

    def _goes_on(self, engine: Engine) -> None:
        """Where a handler of the program's has swallowed an exception, the next epoch follows."""
        self._trainings.go_on()

    def _iterated(self, engine: Engine) -> None:
        engine.state.metrics.update(self._trainings.metrics())

    def _completed(self, engine: Engine) -> None:
        self._trainings.end()

    def _raised(self, engine: Engine, error: BaseException) -> None:
        """An engine raises nothing once a handler is there: the program's own decide, or else it is as without this."""
        self._trainings.end(error)
        if all(handler == self._raised for handler, *_ in engine._event_handlers[Events.EXCEPTION_RAISED]):
            raise error
