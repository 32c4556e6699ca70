"""One run: the plan's instruments around the user's program, from the first event of the trace to the last."""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Literal, TextIO

from autograd_doctor.events import Event, Noted, RunEnded
from autograd_doctor.instruments.course import Course
from autograd_doctor.instruments.functions import Functions
from autograd_doctor.instruments.lineage import Lineage
from autograd_doctor.instruments.loaders import Loaders
from autograd_doctor.instruments.module_calls import ModuleCalls
from autograd_doctor.instruments.optimizer_steps import OptimizerSteps
from autograd_doctor.instruments.parameters import Parameters
from autograd_doctor.instruments.session import Session, needed_for
from autograd_doctor.plan import STACKS, Plan
from autograd_doctor.runner import crash
from autograd_doctor.runner.function_mode import FunctionProgram
from autograd_doctor.runner.model_mode import ConfigMistake, ModelProgram
from autograd_doctor.runner.polite import Polite
from autograd_doctor.runner.program import Program, become_main, load
from autograd_doctor.runner.recorder import Recorder
from autograd_doctor.runner.started import started
from autograd_doctor.runner.stopping import Stop, Stopper, speaks_of_evaluation

Reason = Literal["finished", "steps", "time", "exited", "raised", "interrupted"]

_ALWAYS = (Loaders, OptimizerSteps, Lineage)
"""Without them a run can neither count steps, taken by optimizers or by hand, nor cut passes."""
_USAGE = 2
_INTERRUPTED = 130


def run(plan: Plan) -> int:
    """Run the program of a plan in this process; returns the exit code that the program asked for."""
    if plan.stdout_to_stderr:
        os.dup2(2, 1)
    os.environ["AUTOGRAD_DOCTOR"] = "1"
    stacks = Path(plan.scratch, STACKS).open("w")  # noqa: SIM115  # open as long as the process lives
    faulthandler.register(signal.SIGUSR2, file=stacks, all_threads=True, chain=False)
    return _Run(plan).go()


class _Run:
    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._began = time.monotonic()
        self._recorder = Recorder(Path(plan.trace))
        self._session = Session(self._record)
        self._course: Course | None = None
        self._stopper = Stopper(
            self._session.signals.guard,
            plan.steps,
            plan.max_seconds,
            plan.batches_per_epoch,
            end_hard=self._end_hard,
        )

    def _record(self, event: Event) -> None:
        self._recorder.write(event)
        self._stopper.observe(event)

    @property
    def _step(self) -> int:
        return self._course.steps if self._course is not None else 0

    def _note(self, text: str) -> None:
        self._session.emit(Noted(step=self._step, text=text))

    def go(self) -> int:
        """Run the program to its end, its failure or the stop, and say which it was."""
        _let_threads_stop()
        self._session.emit(started(self._plan.target))
        reason, code = self._run_program()
        # What Python does first at exit: wait for the threads of the program, which may still be training.
        threading._shutdown()  # type: ignore[attr-defined]
        return self._finish(reason, code)

    def _run_program(self) -> tuple[Reason, int]:
        try:
            try:
                self._execute()
            finally:
                self._stopper.program_over()
        except BaseException as error:
            return self._ended_by(error)
        return "finished", 0

    def _execute(self) -> None:
        if self._plan.polite:
            # Never undone: exit functions of the program may save, too.
            Polite(self._note, Path(self._plan.scratch)).install()
        self._session.attach([*_ALWAYS, *needed_for(self._plan.events)])
        loaders, self._course = self._session.find(Loaders), self._session.find(Course)
        if loaders is not None:
            loaders.limit = self._plan.batches_per_epoch
        program = self._program()
        if self._course is not None:
            self._stopper.start(self._course)
        program.execute()

    def _program(self) -> Program | ModelProgram | FunctionProgram:
        if self._plan.function is not None:
            return FunctionProgram(self._plan.target, self._plan.function, self._session.find(Functions))
        if self._plan.model is not None:
            parameters = self._session.find(Parameters)
            return ModelProgram(self._plan.target, self._plan.model, self._plan.steps, parameters)
        program = load(self._plan.target)
        # Waiting for an evaluation makes sense only where one would be seen.
        self._stopper.evaluates = self._session.find(ModuleCalls) is not None and speaks_of_evaluation(program.code)
        become_main(program)
        return program

    def _ended_by(self, error: BaseException) -> tuple[Reason, int]:
        """What an exception that left the program means. After a stop, whatever follows is a consequence of it."""
        if self._stopper.reason is not None or isinstance(error, Stop):
            return self._stopper.reason or "steps", 0
        if self._stopper.cut_a_pass and _is_stop_iteration(error):
            text = "the program asked for a batch beyond the end of a pass that was cut, and ended there"
            self._note(text)
            return "finished", 0
        if isinstance(error, SystemExit):
            return "exited", _exit_code(error)
        if isinstance(error, ConfigMistake):
            print(f"error: {error}", file=sys.stderr)
            return "exited", _USAGE
        crash.peel(error)
        interrupted = isinstance(error, KeyboardInterrupt)
        if not interrupted:
            self._session.emit(crash.raised(error, self._session.signals.guard, self._step))
        crash.report(error)
        return ("interrupted", _INTERRUPTED) if interrupted else ("raised", 1)

    def _finish(self, reason: Reason, code: int) -> int:
        self._stopper.over()
        stopped = self._stopper.reason
        try:
            self._session.close()
        finally:
            self._say_ended(stopped or reason, 0 if stopped else code)
        return 0 if stopped else code

    def _say_ended(self, reason: Reason, code: int) -> None:
        seconds = round(time.monotonic() - self._began, 3)
        self._session.emit(RunEnded(step=self._step, reason=reason, exit_code=code, seconds=seconds))

    def _end_hard(self) -> None:
        """The program was stopped and went on all the same."""
        self._say_ended(self._stopper.reason or "time", 0)
        for child in multiprocessing.active_children():
            child.terminate()
        for stream in (sys.stdout, sys.stderr):
            _flush(stream)
        os._exit(0)


def _is_stop_iteration(error: BaseException) -> bool:
    """Also where Python has turned it into a `RuntimeError`, because it left a generator."""
    return isinstance(error, StopIteration) or isinstance(error.__cause__, StopIteration)


def _exit_code(error: SystemExit) -> int:
    """The exit code of `sys.exit(…)`; what is no number goes to standard error, as Python does it."""
    if error.code is None or isinstance(error.code, int):
        return error.code or 0
    print(error.code, file=sys.stderr)
    return 1


def _let_threads_stop() -> None:
    """A training thread that is stopped ends without the traceback that `threading` prints."""
    report = threading.excepthook

    def excepthook(unhandled: threading.ExceptHookArgs, /) -> None:
        if not issubclass(unhandled.exc_type, Stop):
            report(unhandled)

    threading.excepthook = excepthook


def _flush(stream: TextIO | None) -> None:
    if stream is None or stream.closed:
        return
    try:
        stream.flush()
    except OSError as error:
        print(f"autograd_doctor: output lost: {error}", file=sys.__stderr__)
