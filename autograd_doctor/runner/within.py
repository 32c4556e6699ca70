"""Instruments around a piece of a program that runs in this very process, and goes on when they are gone."""

from __future__ import annotations

import gc
import math
from collections.abc import Callable

from torch.optim import Optimizer

from autograd_doctor.clock import CLOCK
from autograd_doctor.events.run import InstrumentAttached, ProcessStarted, RunEnded
from autograd_doctor.instruments.session import Session, needed_for
from autograd_doctor.instruments.spine.optimizers import Optimizers
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.plan import Plan
from autograd_doctor.reading.optimizer_groups import parameters_of
from autograd_doctor.reading.variable_names import variable_name
from autograd_doctor.reading.without_running import attributes, is_a
from autograd_doctor.runner import crash
from autograd_doctor.runner.cells_told import CellsTold
from autograd_doctor.runner.recorder import Recorder
from autograd_doctor.runner.run import ALWAYS, EMITS, Reason
from autograd_doctor.runner.started import started

EMITTED = [event.__name__ for event in EMITS if event is not ProcessStarted]
"""Forks can be counted only for as long as a process lives, and the piece is over before."""


class Within:
    """Watches this process from `begin` to `end`, or until so many steps were taken.

    Nothing is made polite, seeded, cut or stopped: the program is the person's own, and at work.
    """

    def __init__(self, plan: Plan, limit: int | None) -> None:
        self._limit = limit or math.inf
        self._began = CLOCK.monotonic()
        self._recorder = Recorder(plan)
        self._session = Session(self._recorder.write)
        self._cells = CellsTold(self._session)
        self._plan = plan
        self._watching = True

    def begin(self) -> None:
        """Attach the instruments. What the caller's frames name and was built before is introduced."""
        self._session.emit(InstrumentAttached(instrument="runner", emits=EMITTED))
        self._session.emit(started(self._plan.target))
        self._session.attach([*ALWAYS, *needed_for(self._plan.needs)])
        self._look("begin", self._introduce_named)
        if self._limit < math.inf:
            signals = self._session.signals
            signals.modules.began.connect(self._leave_in_time, owner="runner", order=math.inf)
            signals.clearing.began.connect(self._leave_in_time, owner="runner", order=math.inf)

    def end(self, error: BaseException | None) -> None:
        """Take everything out again and end the recording; `error` is what the piece raised."""
        if not self._watching:
            return
        if error is not None and not isinstance(error, GeneratorExit | KeyboardInterrupt | SystemExit):
            crash.tell(error, self._session)
        self._leave(*ending(error))

    def _leave_in_time(self, what: object) -> None:
        """The first step beyond the last begins: never inside torch's hooks, which are not to change while they run."""
        if self._session.step >= self._limit and not self._session.signals.operations.inside:
            self._session.signals.guard.defer(self._leave_now)

    def _leave_now(self) -> None:
        if self._watching:
            self._leave("steps", 0)

    def _leave(self, reason: Reason, code: int) -> None:
        self._watching = False
        self._look("end", self._introduce_holders)
        signals = self._session.signals
        if self._limit < math.inf:
            signals.modules.began.disconnect(self._leave_in_time)
            signals.clearing.began.disconnect(self._leave_in_time)
        self._session.close()
        self._cells.tell()
        seconds = round(CLOCK.monotonic() - self._began, 3)
        self._session.emit(RunEnded(step=self._session.step, reason=reason, exit_code=code, seconds=seconds))
        self._recorder.close()

    # ------------------------------------------------------------------------------------------ what was there before

    def _look(self, name: str, look: Callable[[], None]) -> None:
        with self._session.signals.guard.looking():
            try:
                look()
            except Exception as error:
                self._session.failed("runner", name, error)

    def _introduce_named(self) -> None:
        """Optimizers that the caller's frames name: which parameters learn is to be known before the first step."""
        optimizers = self._session.find(Optimizers)
        if optimizers is not None:
            for optimizer in filter(variable_name, living_optimizers()):
                optimizers.known(optimizer)

    def _introduce_holders(self) -> None:
        """Optimizers that never stepped, and hold parameters that were seen: those are not without an optimizer."""
        optimizers, parameters = self._session.find(Optimizers), self._session.find(Parameters)
        if optimizers is not None and parameters is not None:
            for optimizer in living_optimizers():
                if any(parameters.get(parameter) is not None for parameter in parameters_of(optimizer)):
                    optimizers.number(optimizer)


def living_optimizers() -> list[Optimizer]:
    return [found for found in gc.get_objects() if is_a(found, Optimizer) and "param_groups" in attributes(found)]


def ending(error: BaseException | None) -> tuple[Reason, int]:
    """How the piece ended, and with which exit code it would have ended a program.

    One that came to its end is not said to be finished: the program goes on, and what it does then is not known.
    """
    if error is None or isinstance(error, GeneratorExit):
        return "steps", 0
    if isinstance(error, KeyboardInterrupt):
        return "interrupted", 130
    if isinstance(error, SystemExit):
        return "exited", error.code if isinstance(error.code, int) else int(error.code is not None)
    return "raised", 1
