"""A stretch of a run that is monitored: looked at as in a check for some steps, and glanced at from then on."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from torch.optim import Optimizer

from autograd_doctor.clock import CLOCK
from autograd_doctor.events.cycle import WeightsDrawnAnew
from autograd_doctor.events.data import OlderCheckpointUsed
from autograd_doctor.events.event import Event
from autograd_doctor.events.numerics import GradientMeasured, LossesFollowed, NonFiniteProduced
from autograd_doctor.events.run import CloseLookEnded, InstrumentAttached, LightStepsCounted, RunEnded
from autograd_doctor.events.steps import MemoryMeasured
from autograd_doctor.instruments.session import Memories, Session, needed_for
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.instruments.spine.late_values import LateValues
from autograd_doctor.instruments.spine.optimizers import Optimizers
from autograd_doctor.instruments.spine.pulse import Pulse
from autograd_doctor.plan import Plan
from autograd_doctor.runner import crash, diagnostic_checkpoint
from autograd_doctor.runner.cells_told import CellsTold
from autograd_doctor.runner.recorder import Recorder
from autograd_doctor.runner.run import ALWAYS, Reason
from autograd_doctor.runner.started import started
from autograd_doctor.runner.within import EMITTED
from autograd_doctor.signals.guard import LookClock
from autograd_doctor.signals.signal import Signal

PULSE: tuple[type[Event], ...] = (
    *(LightStepsCounted, LossesFollowed, NonFiniteProduced, GradientMeasured, MemoryMeasured),
    *(OlderCheckpointUsed, WeightsDrawnAnew),
)
"""What is known of every step of a run, and what is asked when one of them stands out."""


class Chapter:
    """Instruments around a stretch of this process, and the trace that they write.

    number: from 1. trace: the file. first: how many steps the run had taken. settled: only the pulse is taken
    by now. record: is called with each event as well.
    """

    def __init__(
        self, plan: Plan, number: int, record: Callable[[Event], None], memories: Memories | None = None
    ) -> None:
        self.number = number
        self.first = plan.steps_before
        self.settled = False
        self.trace = Path(plan.trace)
        self._plan = plan
        self._recorder = Recorder(plan)
        self._record = record
        self._began = CLOCK.monotonic()
        self._trained: diagnostic_checkpoint.Trained | None = None
        self._connected: list[tuple[Signal[Any], Callable[..., None]]] = []
        self.session = Session(self._write, memories)
        self._cells = CellsTold(self.session)
        self.clock = self.session.signals.guard.clock = LookClock()

    def begin(self, optimizers: Iterable[Optimizer]) -> None:
        """Attach what a check attaches. optimizers: those that are at work already."""
        session = self.session
        session.emit(InstrumentAttached(instrument="runner", emits=EMITTED))
        session.emit(started(self._plan.target))
        session.attach([*ALWAYS, Pulse, *needed_for([*self._plan.needs, *(event.__name__ for event in PULSE)])])
        course, known, detail = session.find(Course), session.find(Optimizers), session.find(Detail)
        if course is not None:
            course.steps = self.first
        if detail is not None:
            detail.is_only_run = True
        if known is not None:
            with session.signals.guard.looking():
                for optimizer in optimizers:
                    known.known(optimizer)
        self._cells.tell()

    @property
    def step(self) -> int:
        """How many steps the run has taken."""
        return self.session.step

    def hear(self, signal: Signal[Any], handle: Callable[..., None]) -> None:
        """Call this behind all instruments until the chapter is over."""
        signal.connect(handle, owner="runner", order=float("inf"), bare=True)
        self._connected.append((signal, handle))

    def ignore(self, handle: Callable[..., None]) -> None:
        """Call it no more."""
        for signal, heard in self._connected:
            if heard == handle:
                signal.disconnect(handle)
        self._connected = [(signal, heard) for signal, heard in self._connected if heard != handle]

    def settle(self, on_news: Callable[[], None]) -> None:
        """Let all but the pulse say what they have seen, and rest; call this for what is new from now on."""
        late, detail = self.session.find(LateValues), self.session.find(Detail)
        with self.session.signals.guard.looking():
            if late is not None:
                late.answer_all()
        self.session.keep([Pulse, *needed_for(event.__name__ for event in PULSE)])
        if detail is not None:
            detail.doze(on_news)
        pulse = self.session.find(Pulse)
        if pulse is not None:
            pulse.take(self.session.signals)
        self._cells.tell()
        self.session.emit(CloseLookEnded(step=self.session.step))
        self.settled = True

    def optimizers(self) -> list[Optimizer]:
        """Those that are known and living."""
        known = self.session.find(Optimizers)
        return [optimizer for _, optimizer in known.living()] if known is not None else []

    def save(self, path: Path, about: dict[str, Any]) -> list[str]:
        """Write a checkpoint of what is trained, with what there is to say of it; returns which weights are not finite.
        Raises `OSError`."""
        what = self._trained or diagnostic_checkpoint.trained(self.session)
        with self.session.signals.guard.looking():
            return diagnostic_checkpoint.write(path, what, {"step": self.session.step, **about})

    def end(self, reason: Reason, code: int, error: BaseException | None = None) -> None:
        """Take everything out again, and end the recording. error: what the program died of."""
        if error is not None:
            crash.tell(error, self.session)
        for signal, handle in self._connected:
            signal.disconnect(handle)
        self._connected.clear()
        self._trained = diagnostic_checkpoint.trained(self.session)
        self.session.close()
        self._cells.tell()
        seconds = round(CLOCK.monotonic() - self._began, 3)
        self._write(RunEnded(step=self.session.step, reason=reason, exit_code=code, seconds=seconds))
        self._recorder.close()

    def let_go(self) -> None:
        """Another chapter goes on: what the program replaces from here on is not kept alive by this one."""
        self._trained = None

    def _write(self, event: Event) -> None:
        self._recorder.write(event)
        self._record(event)
