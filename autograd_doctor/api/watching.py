"""`autograd_doctor.watch`: a piece of training in this very process, watched from where a block begins to its end."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Self

import msgspec

from autograd_doctor import config, recording
from autograd_doctor import report as plain
from autograd_doctor.accepted import Accepted
from autograd_doctor.api.shown_report import Report
from autograd_doctor.config import Loaded
from autograd_doctor.interpreter import lacking_torch
from autograd_doctor.mistakes import Mistake, nearest
from autograd_doctor.notebook import cell_file, spoken
from autograd_doctor.plan import Outcome, Plan, Target
from autograd_doctor.ranks import this_rank
from autograd_doctor.reading.ipython_cells import cell_number
from autograd_doctor.reading.places import is_ours
from autograd_doctor.rules import Rule, all_rules
from autograd_doctor.settings import selection
from autograd_doctor.trace import Trace

_SETTINGS = ("select", "extend_select", "ignore", "fail_on", "min_steps", "rules")
"""Those that say how to judge: nothing else is for the doctor to decide in a process that is not its own."""
under_way = threading.Lock()
"""Held while a block is watched: seams are patched for all of a process."""


def watch(*, steps: int | None = None, **settings: Any) -> Watched:
    """Watch the training inside a block of this process: `with autograd_doctor.watch() as watched: ...`.

    After the block, `watched.report` is what `doctor check` would have said of it. Models, optimizers and loaders may
    have been built before. Instruments are there only inside the block, and change no bit of what is computed: nothing
    is seeded, redirected, cut short or stopped. An exception of the block passes through, and the report says what was
    seen until then. No process is started, so that nothing can be run a second time: where that would be needed to tell
    a cause, the report says that the run could not be judged.

    steps: how many training steps to watch; those that follow run plainly (None: all). settings: `select`,
    `extend_select`, `ignore`, `fail_on`, `min_steps` and `rules`, as in the settings file, and winning over that which
    lies beside or above the calling file. Raises `Mistake` for those that are unknown or have a wrong value, and where
    torch is not installed.

    What runs in the process while the block is open is watched, whichever function or thread it belongs to; single
    operations are seen on the thread that opened it. A block inside another one, in another thread while one is open,
    or in a program under `doctor check`, is not watched a second time: its report is "not judged", and says why.
    """
    if steps is not None and (type(steps) is not int or steps < 1):
        raise Mistake(f"watch(): steps: expected a whole number above 0 or None, found {steps!r}")
    if missing := lacking_torch():
        raise Mistake(f"watch(): {missing}")
    frame = calling()
    return Watched(Job(loaded(frame, settings, "watch()", ("steps",)), "watch()"), place_of(frame), steps)


def calling() -> FrameType:
    """The innermost frame that is not ours."""
    frame = sys._getframe(1)
    while is_ours(frame.f_code.co_filename) and frame.f_back is not None:
        frame = frame.f_back
    return frame


def place_of(frame: FrameType) -> str:
    """The line that begins to watch, with its file as seen from the working folder; of a notebook, the cell."""
    if cell := cell_number(frame.f_code.co_filename):
        return spoken(cell_file("", cell))
    file = Path(frame.f_code.co_filename)
    shown = file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file
    return f"{shown}:{frame.f_lineno}"


def loaded(frame: FrameType, settings: dict[str, Any], caller: str, others: Sequence[str]) -> Loaded:
    """The settings for a call from a frame. others: its arguments that are none. Raises `Mistake`."""
    unknown = next((key for key in settings if key not in _SETTINGS), None)
    if unknown is not None:
        raise Mistake(f"{caller}: {unknown}: no such argument{nearest(unknown, (*others, *_SETTINGS))}")
    file = Path(frame.f_code.co_filename)
    folder = file.parent if file.is_file() else Path.cwd()
    return config.load(settings, folder=folder, environment=os.environ, caller=caller)


class Job:
    """How to judge."""

    def __init__(self, loaded: Loaded, caller: str) -> None:
        catalogue = all_rules()
        self.rules: list[Rule] = selection.selected(loaded, catalogue)
        if not self.rules:
            raise Mistake(f"{caller}: no rules left to check: `select` and `ignore` exclude all of them")
        self._tunables = selection.tunables(loaded, catalogue)
        self._settings = loaded.settings
        folder = loaded.file.parent if loaded.file else Path()
        self._accepted = Accepted(ignored=selection.ignored(loaded, catalogue), folder=folder)

    @property
    def fail_on(self) -> str:
        """The least severity that fails a check."""
        return self._settings.fail_on

    def judged(self, trace: Trace, target: Target, rules: Sequence[Rule] | None = None) -> plain.Report:
        """The report on a trace by these rules, by all of them if none are given."""
        from autograd_doctor.engine import judge
        from autograd_doctor.proving.proposing import with_changes

        report = judge(
            trace,
            self.rules if rules is None else rules,
            self._tunables,
            target=target,
            fail_on=self._settings.fail_on,
            min_steps=self._settings.min_steps,
            outcome=Outcome(exit_code=trace.end.exit_code if trace.end else 0),
            accepted=self._accepted,
        )
        return with_changes(report, trace) if report.findings else report


class Watched:
    """A block that is watched, made by `watch`. It may be entered once.

    At the end of a cell of a notebook it is shown as the page of the report; `print(watched)` writes the report.
    """

    def __init__(self, job: Job, place: str, steps: int | None) -> None:
        self._job = job
        self._target = Target("block", place)
        self._steps = steps
        self._unwatched = ""
        self._report: Report | None = None
        self._trace: Trace | None = None
        self._end: Callable[[BaseException | None], Trace] | None = None
        self._entered = False

    @property
    def report(self) -> Report:
        """What was seen, judged when it is first asked for. Raises `Mistake` before the block is over."""
        if self._report is None:
            if self._trace is None:
                raise Mistake(f"{self._target.name}: the report exists only after the block has ended")
            report = self._job.judged(self._trace, self._target)
            report = msgspec.structs.replace(report, exit_reason=self._unwatched or report.exit_reason)
            self._report = Report.of(report)
            self._trace = None
        return self._report

    def __enter__(self) -> Self:
        if self._entered:
            raise Mistake(f"{self._target.name}: a `watch()` is for one block; call it again for the next one")
        self._entered = True
        if os.environ.get("AUTOGRAD_DOCTOR") == "1":
            self._unwatched = "the whole program runs under `doctor check`, so this block was not watched separately"
        elif not under_way.acquire(blocking=False):
            self._unwatched = "another `watch()` was active, so this block was not watched separately"
        else:
            try:
                self._end = _begun(self._job, self._target, self._steps)
            except BaseException:
                under_way.release()
                raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._end is None:
            self._trace = Trace(())
            return
        end, self._end = self._end, None
        try:
            self._trace = end(error)
        finally:
            under_way.release()

    @property
    def _is_over(self) -> bool:
        return self._report is not None or self._trace is not None

    def __repr__(self) -> str:
        said = self.report.summary() if self._is_over else "the block has not ended"
        return f"<watch at {self._target.name}: {said}>"

    def __str__(self) -> str:
        return str(self.report) if self._is_over else repr(self)

    def _repr_html_(self) -> str | None:
        return self.report._repr_html_() if self._is_over else None


def _begun(job: Job, target: Target, steps: int | None) -> Callable[[BaseException | None], Trace]:
    """Begin to watch; what is returned ends it, and tells what was recorded."""
    from autograd_doctor.runner.within import Within

    folder = tempfile.TemporaryDirectory(prefix="autograd-doctor-", ignore_cleanup_errors=True)
    trace = Path(folder.name, "trace")
    needs = {event for rule in job.rules for event in rule.needs}
    plan = Plan(
        target=target,
        trace=str(trace),
        scratch=folder.name,
        selected=[rule.code for rule in job.rules],
        needs=sorted(event.__name__ for event in needs),
        steps=steps or 0,
        seconds=0.0,
        batches_per_epoch=0,
        polite=False,
        ranks=this_rank(os.environ),
    )
    within = Within(plan, steps)

    def end(error: BaseException | None) -> Trace:
        with folder:
            within.end(error)
            return recording.load(trace)

    try:
        within.begin()
    except BaseException:
        end(None)
        raise
    return end
