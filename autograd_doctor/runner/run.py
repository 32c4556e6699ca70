"""One run: the plan's instruments around the user's program, from the first event of the trace to the last."""

from __future__ import annotations

import faulthandler
import functools
import gc
import multiprocessing
import os
import random
import sys
import threading
import warnings
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from types import CodeType
from typing import Literal, NoReturn, TextIO

import msgspec
import torch

from autograd_doctor import system
from autograd_doctor.clock import CLOCK
from autograd_doctor.events.event import Event
from autograd_doctor.events.run import (
    CellRan,
    CloseLookEnded,
    InstrumentAttached,
    ModelAssumed,
    Noted,
    ProcessEnded,
    ProcessStarted,
    ProgramRaised,
    RankJoined,
    RecordingStarted,
    RunEnded,
    RunStarted,
)
from autograd_doctor.events.subjects import OptimizerBuilt
from autograd_doctor.instruments.errors.functions import Functions
from autograd_doctor.instruments.session import Session, needed_for
from autograd_doctor.instruments.spine.captured import Captured
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.instruments.spine.devices import Devices
from autograd_doctor.instruments.spine.gradient_norms import GradientNorms
from autograd_doctor.instruments.spine.light_steps import LightSteps
from autograd_doctor.instruments.spine.lineage import Lineage
from autograd_doctor.instruments.spine.loaders import Loaders
from autograd_doctor.instruments.spine.memory import Memory
from autograd_doctor.instruments.spine.module_calls import ModuleCalls
from autograd_doctor.instruments.spine.optimizer_steps import OptimizerSteps
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.instruments.spine.torch_warnings import TorchWarnings
from autograd_doctor.instruments.spine.uploads import Uploads
from autograd_doctor.keeping.claims import is_waiting
from autograd_doctor.plan import Plan, plan_of_members
from autograd_doctor.reading.places import before_libraries, own_modules
from autograd_doctor.reading.torch_versions import WAITING
from autograd_doctor.reading.without_running import attributes
from autograd_doctor.runner import crash
from autograd_doctor.runner.assuming import assume, defines_model
from autograd_doctor.runner.call_program import CallProgram
from autograd_doctor.runner.caught import Caught
from autograd_doctor.runner.children import watch_children
from autograd_doctor.runner.function_mode import FunctionProgram
from autograd_doctor.runner.groups import Groups
from autograd_doctor.runner.joined import Joined
from autograd_doctor.runner.keeper import Refused
from autograd_doctor.runner.laid_over import lay
from autograd_doctor.runner.model_mode import ConfigMistake, ModelProgram
from autograd_doctor.runner.notebook_program import NotebookProgram
from autograd_doctor.runner.polite import Polite
from autograd_doctor.runner.program import Program, become_main, load
from autograd_doctor.runner.rank_stopping import RankStopper
from autograd_doctor.runner.recorder import Recorder
from autograd_doctor.runner.started import started
from autograd_doctor.runner.started_processes import Processes
from autograd_doctor.runner.stopping import Stop, Stopper, speaks_of_evaluation
from autograd_doctor.signals.patches import Patches
from autograd_doctor.signals.transforms import TransformCall

Reason = Literal["finished", "steps", "time", "hung", "exited", "raised", "interrupted"]

_ON_ACCELERATORS = (Uploads, Captured)
ALWAYS = (
    LightSteps,
    Loaders,
    OptimizerSteps,
    Lineage,
    TorchWarnings,
    GradientNorms,
    Memory,
    Devices,
    *_ON_ACCELERATORS,
)
"""Without them a run can neither count steps, taken by optimizers or by hand, nor cut passes, nor be drawn; and would
have an accelerator waited for more often."""
EMITS: tuple[type[Event], ...] = (
    *(RecordingStarted, InstrumentAttached),
    *(
        RunStarted,
        ModelAssumed,
        Noted,
        ProcessStarted,
        ProcessEnded,
        RankJoined,
        ProgramRaised,
        CellRan,
        CloseLookEnded,
        RunEnded,
    ),
)
"""What the runner itself states, without any instrument."""
_WELL: tuple[Reason, int] = ("finished", 0)
_leave = os._exit
_USAGE = 2
_OF_THREADS = r"This process \(pid=\d+\) is multi-threaded, use of "
_INTERRUPTED = 130
_FILES = 200
"""Of a program's own modules: what is not named of a larger program is not looked through for what never ran."""
_OUT_OF_REACH = 500
"""Programs close descriptors by the hundred to shake off what they inherited; ours that must stay goes above."""


def run(plan: Plan) -> int:
    """Run the program of a plan in this process; returns the exit code that the program asked for."""
    if plan.stdout_to_stderr:
        os.dup2(2, 1)
    os.environ["AUTOGRAD_DOCTOR"] = "1"
    # Threads of ours make Python 3.12 and later warn of each fork; what the program filters itself wins.
    warnings.filterwarnings("ignore", _OF_THREADS, DeprecationWarning)
    return _Run(plan).go()


def _stacks(plan: Plan) -> int:
    """The file of the stacks, open as long as the process lives."""
    return os.open(plan.stacks, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_CLOEXEC", 0), 0o600)


class _Run:
    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._began = CLOCK.monotonic()
        self._recorder = Recorder(plan)
        self._session = Session(self._record)
        self._patches = Patches()
        self._caught = Caught(self._session)
        self._trains = False
        self._polite: Polite | None = None
        self._joined = Joined()
        can_be_several = plan.ranks.are_several or plan.ranks.folder
        ranked = partial(RankStopper, plan.ranks, is_member=plan.is_member, show=self._show_stacks)
        make = ranked if can_be_several else Stopper
        self._stopper = make(
            self._session.signals.guard,
            plan.steps,
            plan.seconds,
            plan.max_seconds,
            plan.batches_per_epoch,
            runs_again=plan.runs_again,
            end_hard=self._end_hard,
            note=self._note,
            waits=partial(is_waiting, Path(plan.scratch)),
        )

    def _record(self, event: Event) -> None:
        self._recorder.write(event)
        self._stopper.observe(event)
        self._trains |= isinstance(event, OptimizerBuilt | ProcessStarted)

    def _note(self, text: str) -> None:
        self._session.emit(Noted(step=self._session.step, text=text))

    def go(self) -> int:
        """Run the program to its end, its failure or the stop, and say which it was."""
        if self._plan.waits:
            os.environ.update(WAITING)
        self._say_started()
        reason, code = self._run_program()
        # What Python does first at exit: wait for the threads of the program, which may still be training.
        threading._shutdown()  # type: ignore[attr-defined]
        return self._finish(reason, code)

    def _say_started(self) -> None:
        system.show_stacks_when_asked(system.out_of_reach(_stacks(self._plan), _OUT_OF_REACH))
        _let_threads_stop()
        self._session.emit(InstrumentAttached(instrument="runner", emits=[event.__name__ for event in EMITS]))
        self._session.emit(started(self._plan.target))
        if self._plan.assumed is not None:
            self._session.emit(ModelAssumed(assumption=self._plan.assumed))

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
            own = map(Path, filter(None, (self._plan.trace, self._plan.members, self._plan.ranks.folder)))
            self._polite = Polite(self._note, Path(self._plan.scratch), *own)
            self._polite.install()
        if self._plan.seed is not None:
            _seed(self._plan.seed)
            if self._plan.reseeds:
                torch.manual_seed(self._plan.seed)
        self._watch()
        lay(self._plan.overlay, self._file_of_members())
        program = self._program()
        self._start_clock()
        program.execute()

    def _watch(self) -> None:
        self._attach()
        self._caught.listen(self._patches)
        Groups(self._session).listen(self._patches)
        watch_children(self._file_of_members(), Processes(self._session, self._are_several), self._leave)
        self._patches.replace(os, "_exit", self._exiting(os._exit))
        # What is kept beside tensors has the garbage collector run more often: it need not visit torch and ourselves.
        gc.freeze()

    def _file_of_members(self) -> str:
        """The plan of processes that the program starts, empty where these are not watched."""
        return str(plan_of_members(self._plan.members)) if self._plan.members else ""

    def _start_clock(self) -> None:
        course = self._session.find(Course)
        if course is not None:
            self._stopper.start(course)
            self._await_training(course)
        self._session.signals.transforms.ended.connect(self._differentiated, owner="runner")

    def _differentiated(self, _: TransformCall) -> None:
        """Who takes gradients by `torch.func` trains, in whatever way the steps are taken."""
        self._trains = True

    def _are_several(self) -> None:
        """Others may train with this process: a pass that it cuts would leave them waiting."""
        loaders = self._session.find(Loaders)
        if loaders is not None:
            loaders.limit = 0

    def _leave(self) -> None:
        """This is a forked process now, which is watched by itself: out with what it has inherited."""
        self._session.leave()
        self._session.signals.transforms.ended.disconnect(self._differentiated)
        self._patches.close()

    def _await_training(self, course: Course) -> None:
        """With the first backward, or step, it is clear which rank this is; what is new on the file system before is no
        result of training."""

        def began(_: Course) -> None:
            course.backward_over.disconnect(began)
            course.step_taken.disconnect(began)
            self._say_joined()
            if self._polite is not None:
                self._polite.training_began()

        course.backward_over.connect(began, owner="runner")
        course.step_taken.connect(began, owner="runner")

    def _say_joined(self) -> None:
        if (joined := self._joined.news()) is not None:
            self._session.emit(msgspec.structs.replace(joined, step=self._session.step))

    def _attach(self) -> None:
        try:
            self._session.attach([*ALWAYS, *needed_for(self._plan.needs)])
        except Exception as error:
            self._session.failed("runner", "attach", error)
        loaders = self._session.find(Loaders)
        if loaders is not None:
            loaders.limit, loaders.patience = self._plan.batches_per_epoch, self._plan.seconds / 2
            loaders.steps_to_come = self._plan.steps
            loaders.longest = self._plan.max_seconds / 3 if self._plan.seconds else 0.0
        detail = self._session.find(Detail)
        if detail is not None:
            detail.full_from = self._plan.full_from

    def _program(self) -> Program | NotebookProgram | CallProgram | ModelProgram | FunctionProgram:
        if self._plan.function is not None:
            return FunctionProgram(self._plan.target, self._plan.function, self._session.find(Functions))
        if self._plan.model is not None:
            parameters = self._session.find(Parameters)
            return ModelProgram(self._plan.target, self._plan.model, self._plan.steps, parameters)
        if self._plan.call is not None:
            return CallProgram(self._plan.target, self._plan.call, self._await_evaluation)
        if self._plan.target.kind == "notebook":
            notebook = NotebookProgram(self._plan.target, self._note)
            self._await_evaluation(notebook.codes)
            return notebook
        program = load(self._plan.target)
        self._await_evaluation([program.code])
        become_main(program)
        return program

    def _await_evaluation(self, codes: Iterable[CodeType]) -> None:
        """Waiting for an evaluation makes sense only where one would be seen."""
        seen = self._session.find(ModuleCalls) is not None
        self._stopper.evaluates = seen and any(map(speaks_of_evaluation, codes))

    def _ended_by(self, error: BaseException) -> tuple[Reason, int]:
        """What an exception that left the program means. After a stop, whatever follows is a consequence of it."""
        if self._stopper.is_stopping or isinstance(error, Stop):
            return self._stopper.reason or "steps", 0
        if self._stopper.cut_a_pass and _is_stop_iteration(error):
            text = "the program asked for a batch beyond the end of a pass that the doctor had cut, and ended there"
            self._note(text)
            return "finished", 0
        if isinstance(error, SystemExit):
            code = self._exit_code(error)
            self._say_caught(self._caught.behind(error) if code else None)
            return "exited", code
        if isinstance(error, ConfigMistake):
            print(f"error: {error}", file=sys.stderr)
            return "exited", _USAGE
        crash.peel(error)
        if isinstance(error, Refused):
            # Said in a note: that a file cannot be kept is no fault of the program's.
            self._report(error)
            return "exited", 1
        interrupted = isinstance(error, KeyboardInterrupt)
        if not interrupted:
            crash.tell(error, self._session)
        self._report(error)
        return ("interrupted", _INTERRUPTED) if interrupted else ("raised", 1)

    def _exit_code(self, error: SystemExit) -> int:
        """The exit code of `sys.exit(…)`, as the shell sees it; what is no number goes to standard error."""
        if error.code is None or isinstance(error.code, int):
            return (error.code or 0) & 0xFF
        print(error.code, file=sys.stderr)
        return 1

    def _report(self, error: BaseException) -> None:
        crash.report(error)

    def _finish(self, reason: Reason, code: int) -> int:
        self._stopper.over()
        self._session.signals.transforms.ended.disconnect(self._differentiated)
        self._patches.close()
        trained = self._trained()
        self._close_session()
        stopped = self._stopper.reason
        if self._plan.assumes and not trained and stopped is None and reason in ("finished", "exited") and code == 0:
            self._assume()
        self._say_ended(stopped or reason, 0 if stopped else code)
        return 0 if stopped else code

    def _assume(self) -> None:
        """Where nothing was there to watch, look whether the program defines a model that could be trained."""
        program = sys.modules["__main__"]
        assumption = assume(program) if defines_model(program) else None
        if assumption is not None:
            self._session.emit(ModelAssumed(assumption=assumption))

    def _trained(self) -> bool:
        """Whether anything showed that the program trains; also where nobody could have seen it."""
        course = self._session.find(Course)
        return course is None or bool(course.steps or course.backwards) or self._trains

    def _close_session(self) -> None:
        try:
            self._session.close()
        except Exception as error:
            self._session.failed("runner", "close", error)

    def _exiting(self, leave: Callable[[int], NoReturn]) -> Callable[[int], NoReturn]:
        """`os._exit` of this process, but not of those that it forks, ends the recording first."""
        process = os.getpid()

        @functools.wraps(leave)
        def _exit(status: int) -> NoReturn:
            if os.getpid() == process:
                self._left(status)
            leave(status)

        return _exit

    def _left(self, status: int) -> None:
        if self._stopper.reason is None:
            self._say_caught(self._caught.now() if status else None)
        if threading.current_thread() is threading.main_thread():
            self._close_session()
        stopped = self._stopper.reason
        self._say_ended(stopped or "exited", 0 if stopped else status)

    def _say_caught(self, caught: ProgramRaised | None) -> None:
        if caught is not None:
            self._session.emit(caught)

    def _say_ended(self, reason: Reason, code: int) -> None:
        if self._polite is not None:
            self._polite.settle()
        self._say_joined()
        seconds = round(CLOCK.monotonic() - self._began, 3)
        files = sorted({path for each in own_modules() if (path := attributes(each).get("__file__"))})[:_FILES]
        ended = RunEnded(
            step=self._session.step,
            reason=reason,
            exit_code=code,
            seconds=seconds,
            files=files,
            before_libraries=list(before_libraries()),
        )
        self._session.emit(ended)

    def _show_stacks(self) -> None:
        faulthandler.dump_traceback(file=_stacks(self._plan), all_threads=True)

    def _end_hard(self) -> None:
        """The program hangs, or was stopped and went on all the same."""
        reason = self._stopper.reason or "time"
        if reason == "hung":
            self._show_stacks()
        self._say_ended(reason, 0)
        for child in multiprocessing.active_children():
            child.terminate()
        for stream in (sys.stdout, sys.stderr):
            _flush(stream)
        _leave(0)


class MemberRun(_Run):
    """A process that the program has started: whoever runs it says when it has begun and ended, and tells the rest.

    forked: it has what its parent has patched. is_main: its program is the only one in it, so that what comes after its
    last line counts.
    """

    def __init__(self, plan: Plan, *, forked: bool, is_main: bool) -> None:
        super().__init__(plan)
        self._forked = forked
        self._is_main = is_main

    def begin(self) -> None:
        """Watch from here on. Its random numbers are its own: others would be the same in all ranks."""
        self._say_started()
        if self._plan.polite and not self._forked:
            polite = Polite(self._note, Path(self._plan.scratch))
            polite.switch_off()
        self._watch()
        self._start_clock()

    def ended(self, error: BaseException | None) -> bool:
        """Its program has come to an end; returns whether that is because it was stopped."""
        self._stopper.program_over()
        reason, code = self._ended_by(error) if error is not None else _WELL
        if self._is_main:
            threading._shutdown()  # type: ignore[attr-defined]
        self._finish(reason, code)
        return error is not None and self._stopper.is_stopping

    def _report(self, error: BaseException) -> None:
        """Who runs it does."""

    def _exit_code(self, error: SystemExit) -> int:
        return (error.code or 0) & 0xFF if isinstance(error.code, int | None) else 1


def _seed(seed: int) -> None:
    """Let generators that begin with what the system draws begin with this; torch's own always begins the same."""
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed)


def _is_stop_iteration(error: BaseException) -> bool:
    """Also where Python has turned it into a `RuntimeError`, because it left a generator."""
    return isinstance(error, StopIteration) or isinstance(error.__cause__, StopIteration)


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
