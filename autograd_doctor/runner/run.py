"""One run: the plan's probes around the user's program, from the first event of the trace to the last."""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import signal
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Literal, TextIO

from autograd_doctor.events import Event, Noted, RunEnded
from autograd_doctor.plan import STACKS, Plan
from autograd_doctor.probes import installed
from autograd_doctor.runner import crash
from autograd_doctor.runner.function_mode import FunctionProgram
from autograd_doctor.runner.model_mode import ConfigMistake, ModelProgram
from autograd_doctor.runner.polite import Polite
from autograd_doctor.runner.program import Program, become_main, load
from autograd_doctor.runner.recorder import Recorder
from autograd_doctor.runner.started import started
from autograd_doctor.runner.stopping import Stop, Stopper, speaks_of_evaluation
from autograd_doctor.watching.watch import Watch

Reason = Literal["finished", "steps", "time", "exited", "raised", "interrupted"]

_ALWAYS = ("data", "optimizers")
"""Probes without which a run can neither count steps nor cut passes."""
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
        self._watch = Watch(self._record)
        self._watch.batches_per_epoch = plan.batches_per_epoch
        self._probes = ExitStack()
        self._stopper = Stopper(self._watch, plan.steps, plan.max_seconds, end_hard=self._end_hard)

    def _record(self, event: Event) -> None:
        self._recorder.write(event)
        self._stopper.observe(event)

    def go(self) -> int:
        """Run the program to its end, its failure or the stop, and say which it was."""
        _let_threads_stop()
        self._watch.emit(started(self._plan.target))
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
            Polite(self._watch, Path(self._plan.scratch)).install()
        self._probes.enter_context(installed(self._watch, {*self._plan.probes, *_ALWAYS}))
        program = self._program()
        self._stopper.start()
        program.execute()

    def _program(self) -> Program | ModelProgram | FunctionProgram:
        if self._plan.function is not None:
            return FunctionProgram(self._plan.target, self._plan.function, self._watch)
        if self._plan.model is not None:
            return ModelProgram(self._plan.target, self._plan.model, self._plan.steps, self._watch)
        program = load(self._plan.target)
        # Waiting for an evaluation makes sense only where one would be seen.
        self._stopper.evaluates = "modules" in self._plan.probes and speaks_of_evaluation(program.code)
        become_main(program)
        return program

    def _ended_by(self, error: BaseException) -> tuple[Reason, int]:
        """What an exception that left the program means. After a stop, whatever follows is a consequence of it."""
        if self._stopper.reason is not None or isinstance(error, Stop):
            return self._stopper.reason or "steps", 0
        if self._stopper.cut_a_pass and _is_stop_iteration(error):
            text = "the program asked for a batch beyond the end of a pass that was cut, and ended there"
            self._watch.emit(Noted(step=self._watch.step, text=text))
            return "finished", 0
        if isinstance(error, SystemExit):
            return "exited", _exit_code(error)
        if isinstance(error, ConfigMistake):
            print(f"error: {error}", file=sys.stderr)
            return "exited", _USAGE
        crash.peel(error)
        interrupted = isinstance(error, KeyboardInterrupt)
        if not interrupted:
            self._watch.emit(crash.raised(error, self._watch))
        crash.report(error)
        return ("interrupted", _INTERRUPTED) if interrupted else ("raised", 1)

    def _finish(self, reason: Reason, code: int) -> int:
        self._stopper.over()
        stopped = self._stopper.reason
        try:
            self._probes.close()
        finally:
            self._say_ended(stopped or reason, 0 if stopped else code)
        return 0 if stopped else code

    def _say_ended(self, reason: Reason, code: int) -> None:
        seconds = round(time.monotonic() - self._began, 3)
        self._watch.emit(RunEnded(step=self._watch.step, reason=reason, exit_code=code, seconds=seconds))

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
