"""When a check has seen enough, and how it ends a program that knows nothing of it.

The policy: at least `steps` optimizer steps and at least `seconds` of training, and at most `max_seconds`. When these
are used up while a phase not yet seen is near, the check goes on for up to four times the steps, within `max_seconds`:
near is the end of the first pass over a loader, and an evaluation of which the program speaks and which has not come
yet. Where seconds were asked for, a program that will be through within `max_seconds`, as far as its loops tell
(`foresight`), is watched to its end. The clock of training starts with the first backward or step. A program that shows
neither is given twice `max_seconds`. One that will be run a second time, because more detail is needed, is stopped
after the step.

The means: a `BaseException` raised where an optimizer step has just taken effect. It passes `except Exception`; a bare
`except:` swallows it, so it is raised again after each later step, and after a few of these the process ends hard.
Where no step comes, a thread raises it in the main thread with `PyThreadState_SetAsyncExc`. A timer signal would also
interrupt blocking calls, but it takes the place of a handler of the program's own, and every system call of the
program could return early because of it.

A program that was training, and of which nothing moves any more when the time is up, hangs: it is ended, not stopped.
Unless it sleeps, which ends by itself: then the time is up, and no more is known. One whose main thread has come to its
end and left threads behind that do not train, a server for instance, has finished once these stand still.
"""

from __future__ import annotations

import ctypes
import math
import os
import threading
from collections.abc import Callable
from types import CodeType
from typing import Literal

from autograd_doctor.clock import CLOCK
from autograd_doctor.events.event import Event
from autograd_doctor.events.numerics import NonFiniteInput, NonFiniteProduced
from autograd_doctor.events.run import MoreDetailNeeded
from autograd_doctor.events.steps import BatchDrawn, ForwardRan, LengthShortened, NonFiniteGradient
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.runner.foresight import Foresight
from autograd_doctor.runner.standstill import Standstill
from autograd_doctor.runner.whereabouts import line_of, sleeps
from autograd_doctor.signals.guard import Guard

StopReason = Literal["steps", "time", "hung", "finished"]

_EXTENSION = 4
_START_UP = 2
_SWALLOWED = 3
_GRACE = 10.0
_TICK = 0.2
_STEP_IS_NEAR = 2.0
_WORDS_FOR_EVALUATION = {"eval", "evaluate", "validate", "inference_mode", "validation_step", "test_step"}


class Stop(BaseException):
    """Enough was seen. Not an `Exception`, so that the program's own error handling lets it through."""


class Stopper:
    """Decides when to stop, raises `Stop`, and calls `end_hard` if the program does not end after it."""

    def __init__(
        self,
        guard: Guard,
        steps: int,
        seconds: float,
        max_seconds: float,
        batches_per_epoch: int,
        *,
        runs_again: bool = False,
        end_hard: Callable[[], None],
        note: Callable[[str], None] = lambda text: None,
        waits: Callable[[], bool] = lambda: False,
    ) -> None:
        self.reason: StopReason | None = None
        self.evaluates = False
        self.cut_a_pass = False
        self._runs_again = runs_again
        self._cause_told = self._is_seen_again = False
        self._guard = guard
        self._course: Course | None = None
        self._cuts = batches_per_epoch > 0
        self._steps = steps
        self._least_seconds = seconds
        self._seconds = max_seconds
        self._end_hard = end_hard
        self._note = note
        self._waits = waits
        self._trainer = threading.main_thread()
        self._process = os.getpid()
        self._enough_at = math.inf
        self._deadline = math.inf
        self._standstill = Standstill(CLOCK.monotonic(), max_seconds)
        self._foresight = Foresight()
        self._training = False
        self._evaluated = False
        self._boundary: Literal["unknown", "near", "seen"] = "unknown"
        self._raised = 0
        self._raised_at = math.inf
        self._unanswered = False
        self._lock = threading.Lock()
        self._program_over = False
        self._over = threading.Event()

    def start(self, course: Course) -> None:
        """Listen to steps and backwards, after all instruments, and watch the time."""
        self._course = course
        self._deadline = CLOCK.monotonic() + _START_UP * self._seconds
        course.step_taken.connect(self._stepped, owner="stopping", order=math.inf)
        course.backward_over.connect(self._trained, owner="stopping", order=math.inf)
        threading.Thread(target=self._watch_time, name="autograd_doctor clock", daemon=True).start()

    @property
    def is_stopping(self) -> bool:
        """Whether the program was told to stop: what fails from then on is a consequence of that."""
        return self.reason is not None

    def program_over(self) -> None:
        """Raise nothing in the main thread from now on. Threads of the program may go on training, and are stopped."""
        with self._lock:
            self._program_over = True
            if self.reason == "time":
                _raise_in_main_thread(None)

    def over(self) -> None:
        """Stop watching: everything of the program has come to its end."""
        self._over.set()

    def observe(self, event: Event) -> None:
        """Take note that the program moves, and of the phases that it has shown."""
        self._standstill.signalled(CLOCK.monotonic())
        if isinstance(event, ForwardRan):
            self._evaluated |= not event.grad_enabled or not event.training
        elif isinstance(event, BatchDrawn):
            self.cut_a_pass |= event.cut
            self._observe_pass(event)
        elif isinstance(event, LengthShortened):
            self.cut_a_pass = True
        elif isinstance(event, NonFiniteProduced | NonFiniteInput | NonFiniteGradient):
            self._cause_told = True
        elif isinstance(event, MoreDetailNeeded):
            self._is_seen_again = self._runs_again and not self._cause_told

    def _observe_pass(self, event: BatchDrawn) -> None:
        if self._boundary != "seen":
            within_reach = self._cuts or (event.length or math.inf) <= _EXTENSION * self._steps
            seen = event.ended or event.pass_number > 1
            self._boundary = "seen" if seen else "near" if within_reach else "unknown"

    def _trained(self, course: Course) -> None:
        now = CLOCK.monotonic()
        self._standstill.signalled(now)
        self._trainer = threading.current_thread()
        if not self._training:
            self._training = True
            self._standstill = Standstill(now, self._seconds)
            self._enough_at = now + self._least_seconds
            self._deadline = now + self._seconds

    def _stepped(self, course: Course) -> None:
        if os.getpid() != self._process:
            return
        self._trained(course)
        with self._lock:
            self.reason = self.reason or self._due(course.steps)
        if self.reason:
            self._guard.defer(self._raise)

    def _due(self, taken: int) -> StopReason | None:
        now = CLOCK.monotonic()
        if now >= self._deadline:
            return "time"
        if self._is_seen_again:
            return "steps"
        if self._least_seconds:
            self._foresight.look(now)
        if taken < self._steps or now < self._enough_at:
            return None
        if self._least_seconds and self._foresight.ends_before(self._deadline):
            return None
        if self._phase_is_near() and taken < _EXTENSION * self._steps:
            return None
        return "steps"

    def _phase_is_near(self) -> bool:
        return self._boundary == "near" or (self.evaluates and not self._evaluated)

    def _raise(self) -> None:
        self._raised += 1
        self._raised_at = min(self._raised_at, CLOCK.monotonic())
        if self._raised > _SWALLOWED:
            self._end_hard()
        raise Stop(self.reason)

    def _watch_time(self) -> None:
        now = CLOCK.monotonic()
        while not self._over.wait(_TICK):
            before, now = now, CLOCK.monotonic()
            if self._waits():
                self._stand_still(now, now - before)
            self._standstill.look(now)
            self._look(now)
            stepped = self._course is not None and self._course.steps > 0
            if self.reason is None and self._left_threads_behind() and self._standstill.is_hang(now):
                self._end_finished()
            if self.reason is None and now >= self._deadline + (_STEP_IS_NEAR if stepped else 0.0):
                self._time_is_up(now)
            if now >= self._raised_at + _GRACE:
                self._give_up(now)

    def _stand_still(self, now: float, seconds: float) -> None:
        """The program was kept waiting by us: that is no time of its own."""
        self._standstill.signalled(now)
        self._enough_at += seconds
        self._deadline += seconds
        self._raised_at += seconds

    def _look(self, now: float) -> None:
        """See now and then whether somebody else wants to stop."""

    def _time_is_up(self, now: float) -> None:
        """Stop what moves and end what hangs; where nothing has moved for a while, wait until it is clear which."""
        if self._hangs(now):
            with self._lock:
                self.reason = self.reason or "hung"
            if self.reason == "hung":
                self._end_hard()
        elif self._left_threads_behind():
            self._end_finished()
        elif sleeps(self._trainer) or not (self._training and self._standstill.has_begun(now)):
            self._stop_between_steps(now)

    def _hangs(self, now: float) -> bool:
        still = self._training and self._standstill.is_hang(now)
        return still and not sleeps(self._trainer) and not self._left_threads_behind()

    def _left_threads_behind(self) -> bool:
        """Whether the program has come to its end, and what trained is not among the threads that it waits for."""
        trains_on = self._trainer is not threading.main_thread() and self._trainer.is_alive()
        return self._training and self._program_over and not trains_on

    def _end_finished(self) -> None:
        with self._lock:
            if self.reason is not None or self._over.is_set():
                return
            self.reason = "finished"
        names = ", ".join(f"`{thread.name}`" for thread in _waited_for())
        self._note(f"the program finished, but threads that it had started kept running and were stopped: {names}")
        self._end_hard()

    def _stop_between_steps(self, now: float, reason: StopReason = "time") -> None:
        with self._lock:
            if self.reason is not None or (self._course and self._course.running is not None):
                return
            self.reason = reason
            self._raised_at = now
            if not self._program_over:
                self._unanswered = True
                _raise_in_main_thread(self._interruption())

    def _interruption(self) -> type[Stop]:
        """`Stop` for another thread, which makes the exception at the moment when it takes it."""
        stopper = self

        class Interruption(Stop):
            def __init__(self) -> None:
                stopper._unanswered = False

        return Interruption

    def _give_up(self, now: float) -> None:
        """The program did not end although it was stopped; it hung already if it never took notice."""
        if self._unanswered and self._hangs(now):
            self.reason = "hung"
        elif self._unanswered and sleeps(self._trainer):
            self._note(f"time ran out while the program slept in {line_of(self._trainer)}")
        self._end_hard()


def _waited_for() -> list[threading.Thread]:
    """The threads that Python waits for at its end."""
    return [each for each in threading.enumerate() if not each.daemon and each is not threading.main_thread()]


def speaks_of_evaluation(code: CodeType) -> bool:
    """Whether the source of a program uses one of the words with which evaluations are written."""
    if code.co_name in _WORDS_FOR_EVALUATION or not _WORDS_FOR_EVALUATION.isdisjoint(code.co_names):
        return True
    return any(isinstance(constant, CodeType) and speaks_of_evaluation(constant) for constant in code.co_consts)


def _raise_in_main_thread(exception: type[BaseException] | None) -> None:
    """Have the main thread raise this at its next instruction; None takes back what it has not raised yet."""
    thread = ctypes.c_ulong(threading.main_thread().ident or 0)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, None if exception is None else ctypes.py_object(exception))
