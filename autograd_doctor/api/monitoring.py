"""`autograd_doctor.monitor`: the training in this very process, watched for as long as it lasts."""

from __future__ import annotations

import atexit
import dis
import logging
import math
import os
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Protocol, Self

import msgspec

from autograd_doctor import __version__, recording
from autograd_doctor import report as plain
from autograd_doctor.api.shown_report import Report
from autograd_doctor.api.watching import Job, calling, loaded, place_of, under_way
from autograd_doctor.clock import CLOCK
from autograd_doctor.events.numerics import NonFiniteProduced
from autograd_doctor.events.run import ProgramRaised
from autograd_doctor.findings import SEVERITIES
from autograd_doctor.interpreter import lacking_torch
from autograd_doctor.mistakes import Mistake, nearest
from autograd_doctor.monitoring import folder
from autograd_doctor.monitoring.chapters import as_if_left, consequences, dated, rules_for, unsure
from autograd_doctor.monitoring.folder import About, Found, Numbers
from autograd_doctor.monitoring.latest import Follower
from autograd_doctor.monitoring.summing_up import report_on
from autograd_doctor.plan import Looked, Plan, Ranks, Target
from autograd_doctor.ranks import this_rank
from autograd_doctor.renderers.wording import line_of
from autograd_doctor.report import ReportedFinding
from autograd_doctor.runner.allowance import Allowance, lasting_from
from autograd_doctor.runner.joined import Joined
from autograd_doctor.trace import Trace

LOG = logging.getLogger("autograd_doctor")
_ARGUMENTS = ("trace", "budget", "on_finding", "stop_on", "checkpoint")
_ADVANCE = 1.0
"""Seconds that may be spent before they are earned, where something is new."""
_LEVELS = {"error": logging.ERROR, "warning": logging.WARNING}
"""Of findings that are told. Those of low confidence, and infos, are in the report."""
_HAPPEN = frozenset({NonFiniteProduced, ProgramRaised})
"""What was seen happen, and no other look can have otherwise."""
_NAMED = 4
"""Weights of a checkpoint that are not finite."""


class _Chapter(Protocol):
    """See `runner.chapter.Chapter`, which is loaded with torch."""

    @property
    def number(self) -> int: ...
    @property
    def trace(self) -> Path: ...
    @property
    def step(self) -> int: ...
    def save(self, path: Path, about: dict[str, Any]) -> list[str]: ...


class _Watching(Protocol):
    """See `runner.monitored.Monitored`."""

    @property
    def steps(self) -> int: ...
    @property
    def chapters(self) -> int: ...
    @property
    def is_resting(self) -> bool: ...
    def end(self, error: BaseException | None) -> None: ...


class TrainingStopped(Exception):
    """Raised in the program, at a line of its own, for a finding at or above `stop_on`. `finding` is that finding."""

    def __init__(self, finding: ReportedFinding) -> None:
        super().__init__(_line(finding))
        self.finding = finding


def monitor(
    trace: str | os.PathLike[str] = "run.trace",
    *,
    budget: float = 0.01,
    on_finding: Callable[[ReportedFinding], object] | None = None,
    stop_on: str | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    **settings: Any,
) -> Monitor:
    """Watch the training of this process from now on, until it ends or `close()` is called.

    The run is looked at as a check does, a few dozen steps at a time, again and again; in between only the pulse is
    taken: the loss of each step, what made one of them not finite, memory. What that takes is measured, and kept to a
    share of the run. Nothing of the program is changed, seeded, redirected or stopped, and no accelerator is waited for
    but in steps that are looked at.

    trace: a folder in which the run is recorded, one of a few megabytes at most; what an earlier run has left there is
    put aside in it. `doctor report run.trace` judges it, also that of a process that was killed, and `doctor watch
    run.trace` follows it. budget: the share of the time that looking may take; that of the first steps is paid back
    later. on_finding: called with each finding, an error or a warning, in the thread that trains; all are written to
    the logger `autograd_doctor`, too. stop_on: the least severity ("error", "warning") for which `TrainingStopped` is
    raised in the program. checkpoint: a file that is written once, at the first finding for which the training would be
    stopped, or else the first error: `torch.load` gives the states of models and optimizers by name, the step and the
    finding. settings: as of `watch`.

    Under `doctor check`, beside a `watch()` that is active, or where a monitor is at work already, nothing is watched a
    second time, and the report says so. Of several ranks each watches itself, and takes its part of the budget. Raises
    `Mistake` for arguments that are wrong, and where the folder cannot be made.
    """
    return prepared(trace, budget, on_finding, stop_on, checkpoint, settings).begin()


@dataclass(frozen=True)
class Prepared:
    """What is to be monitored, and how, as the program's line asked for: `begin` begins, as often as there are runs."""

    job: Job
    target: Target
    trace: Path
    budget: float
    on_finding: Callable[[ReportedFinding], object] | None
    stop_on: str | None
    checkpoint: Path | None

    def begin(self) -> Monitor:
        """Watch from now on. Raises `Mistake` where the folder cannot be made."""
        telling = _Telling(self.on_finding, self.stop_on, self.checkpoint)
        watched = Monitor(self.job, self.target, self.trace, self.budget, telling)
        watched._begin()
        return watched


def prepared(
    trace: str | os.PathLike[str],
    budget: float,
    on_finding: Callable[[ReportedFinding], object] | None,
    stop_on: str | None,
    checkpoint: str | os.PathLike[str] | None,
    settings: dict[str, Any],
) -> Prepared:
    """What `monitor` was asked for, or what takes the same arguments. Raises `Mistake` for those that are wrong."""
    if missing := lacking_torch():
        raise Mistake(f"monitor(): {missing}")
    if not isinstance(budget, int | float) or isinstance(budget, bool) or not 0 < budget <= 1:
        raise Mistake(f"monitor(): budget: expected a share of the time between 0 and 1, found {budget!r}")
    if stop_on is not None and stop_on not in SEVERITIES:
        known = ", ".join(f'"{severity}"' for severity in SEVERITIES)
        raise Mistake(f"monitor(): stop_on: expected one of {known} or None, found {stop_on!r}{_like(stop_on)}")
    frame = calling()
    job = Job(loaded(frame, settings, "monitor()", _ARGUMENTS), "monitor()")
    saved = Path(checkpoint) if checkpoint is not None else None
    target = Target("block", place_of(frame))
    return Prepared(job, target, Path(trace), float(budget), on_finding, stop_on, saved)


def _like(word: object) -> str:
    return nearest(word, SEVERITIES) if isinstance(word, str) else ""


def _line(finding: ReportedFinding) -> str:
    where = f"{line_of(finding.location)}: " if finding.location is not None else ""
    return f"{where}{finding.code} {finding.name}: {finding.message}"


def _ranks() -> Ranks:
    """What the launcher tells, which not all do, and the process group, where there is one by now."""
    told, joined = this_rank(os.environ), Joined().news()
    return told if joined is None else msgspec.structs.replace(told, rank=joined.joined, size=joined.world_size)


class _Telling:
    """What is done with a finding.

    An error is told when the next look, which comes soon, finds it as well, or when there is none. A warning, which a
    later step may acquit, is told when it is found once more in a chapter that comes much later, as stages of a run are
    the longer the later they come. What has happened, as a crash or a value that is not finite, is told at once.
    """

    def __init__(
        self, on_finding: Callable[[ReportedFinding], object] | None, stop_on: str | None, checkpoint: Path | None
    ) -> None:
        self._on_finding = on_finding
        self._stop_on = stop_on
        self._checkpoint = checkpoint
        self._since: dict[str, int] = {}
        self._told: set[str] = set()
        self._doubted: set[str] = set()
        self.settles_at = math.inf
        """The step from which on what was found, and may be acquitted, is known to last if it is found again."""
        self._waiting: list[ReportedFinding] = []

    def begin_look(self) -> None:
        """What the last look found, and this one does not, is acquitted."""
        self.settles_at, self._waiting = math.inf, []

    def rest(self) -> list[ReportedFinding]:
        """Errors that no other look will find again, as the run is over."""
        waiting, self._waiting = self._waiting, []
        self._told.update(finding.fingerprint for finding in waiting)
        return waiting

    def known(self, finding: ReportedFinding) -> bool:
        """Whether it was found before."""
        return finding.fingerprint in self._since

    def doubt(self, fingerprints: set[str]) -> None:
        """These are not to be told."""
        self._doubted |= fingerprints

    def is_told(self, finding: ReportedFinding, step: int, *, has_happened: bool) -> bool:
        """Whether it is to be told now, when so many steps were taken."""
        since = self._since.setdefault(finding.fingerprint, step)
        if finding.fingerprint in self._told | self._doubted or finding.severity not in _LEVELS:
            return False
        is_error, is_sure = finding.severity == "error", finding.confidence == "high"
        if finding.confidence == "low":
            return False
        if not (has_happened and (is_error or is_sure)):
            settles_at = since + 1 if is_error else lasting_from(since)
            if step < settles_at:
                self.settles_at = min(self.settles_at, settles_at)
                self._waiting += [finding] if is_error else []
                return False
        self._told.add(finding.fingerprint)
        return True

    def tell(self, finding: ReportedFinding, save: Callable[[Path, dict[str, Any]], list[str]]) -> BaseException | None:
        """Log it, call what is to be called; returns what is to be raised in the program."""
        LOG.log(_LEVELS[finding.severity], "%s", _line(finding))
        stops = self._stop_on is not None and _at_least(finding, self._stop_on)
        if self._checkpoint is not None and (stops or (self._stop_on is None and finding.severity == "error")):
            path, self._checkpoint = self._checkpoint, None
            try:
                spoiled = save(path, {"finding": msgspec.to_builtins(finding)})
                if spoiled:
                    others = f" and {len(spoiled) - _NAMED} more" if len(spoiled) > _NAMED else ""
                    LOG.warning("%s: not finite any more: %s%s", path, ", ".join(spoiled[:_NAMED]), others)
            except (OSError, RuntimeError) as error:  # torch tells of a folder that is missing by the latter
                LOG.warning("no checkpoint was written: %s: %s", path, error)
        try:
            if self._on_finding is not None:
                self._on_finding(finding)
        except BaseException as error:  # the program's own: raised where it trains, and no failure of ours
            return error
        return _stop(finding) if stops else None


def _stop(finding: ReportedFinding) -> TrainingStopped:
    """What is raised in the program; where nobody can catch it, it is shown without our frames that raised it."""
    stop = TrainingStopped(finding)
    if not _may_be_caught(sys._getframe(1)):
        _show_without_ours(stop)
    return stop


def _show_without_ours(stop: TrainingStopped) -> None:
    previous = sys.excepthook

    def show(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        if error is stop:
            sys.excepthook = previous
            traceback = _without_ours(traceback)
            error = error.with_traceback(traceback)
        previous(kind, error, traceback)

    sys.excepthook = show


def _may_be_caught(frame: FrameType | None) -> bool:
    """Whether a `try` or `with` is around a call that leads to a frame, other than those of torch, which raises
    again what it catches. It may also be where nothing is seen of the program, as in a thread of the engine.
    """
    from autograd_doctor.reading.places import is_ours, is_own

    is_seen = False
    while frame is not None:
        code = frame.f_code
        if not (is_ours(code.co_filename) or str(frame.f_globals.get("__name__")).startswith("torch.")):
            is_seen |= is_own(code.co_filename)
            handled = dis.Bytecode(code).exception_entries  # type: ignore[attr-defined]  # typeshed leaves it out
            if any(entry.start <= frame.f_lasti < entry.end for entry in handled):
                return True
        frame = frame.f_back
    return not is_seen


def _without_ours(traceback: TracebackType | None) -> TracebackType | None:
    from autograd_doctor.reading.places import is_ours

    if traceback is None:
        return None
    rest = _without_ours(traceback.tb_next)
    frame = traceback.tb_frame
    if is_ours(frame.f_code.co_filename):
        return rest
    return TracebackType(rest, frame, traceback.tb_lasti, traceback.tb_lineno)


def _at_least(finding: ReportedFinding, severity: str) -> bool:
    ordered: list[str] = list(SEVERITIES)
    return ordered.index(finding.severity) <= ordered.index(severity)


class Monitor:
    """A run that is monitored, made by `monitor`. It is over with `close()`, behind a `with`, or with the process.

    findings: those that were told. numbers: what the run comes to, for a logger.
    """

    def __init__(self, job: Job, target: Target, path: Path, budget: float, telling: _Telling) -> None:
        self._job = job
        self._target = target
        self._path = path.absolute()
        self._telling = telling
        self._ranks = _ranks()
        self._budget = budget / self._ranks.size
        self._folder = folder.rank_folder(self._path, self._ranks.rank)
        self._numbers = Follower()
        self._allowance = Allowance(self._budget, _ADVANCE, CLOCK.perf_counter)
        self._monitored: _Watching | None = None
        self._about: About | None = None
        self._opening: plain.Report | None = None
        self._latest: _Chapter | None = None
        self.findings: list[ReportedFinding] = []
        self._failure = ""
        self._told_in: dict[int, list[str]] = {}
        self.unwatched = ""
        """Why nothing is watched, empty where it is."""

    # --------------------------------------------------------------------------------------------------- what is known

    @property
    def steps(self) -> int:
        """How many the program has taken since."""
        return self._monitored.steps if self._monitored is not None else 0

    @property
    def numbers(self) -> Numbers:
        """The latest loss, and of the latest step that was looked at: gradient norm, update ratio, learning rate."""
        return self._numbers.latest()

    @property
    def spent(self) -> float:
        """The seconds that watching has taken."""
        return self._allowance.spent + self._allowance.pulse

    @property
    def chapters(self) -> int:
        """How many there have been."""
        return self._monitored.chapters if self._monitored is not None else 0

    @property
    def is_resting(self) -> bool:
        """Whether only the pulse of the run is taken at present."""
        return self._monitored is not None and self._monitored.is_resting

    def metrics(self) -> dict[str, float]:
        """The same for a logger: "doctor/gradient_norm" and others, as far as they are known, and how many findings."""
        known = {name: value for name, value in msgspec.to_builtins(self.numbers).items() if value is not None}
        del known["step"]
        return {f"doctor/{name}": value for name, value in known.items()} | {"doctor/findings": len(self.findings)}

    @property
    def report(self) -> Report:
        """What was seen so far, chapters that are over included."""
        if self.unwatched:
            nothing = self._job.judged(Trace(()), self._target)
            return Report.of(msgspec.structs.replace(nothing, exit_reason=self.unwatched))
        report = report_on(self._path, self._job.judged, self._job.rules, fail_on=self._job.fail_on)
        return Report.of(report)

    def __repr__(self) -> str:
        if self.unwatched:
            return f"<monitor at {self._target.name}: {self.unwatched}>"
        found = len(self.findings)
        said = f"{self.steps} steps, {found} finding{'s' * (found != 1)}, in {self._path.name}"
        return f"<monitor at {self._target.name}: {said}{', over' * self._is_over}>"

    @property
    def _is_over(self) -> bool:
        return self._about is not None and bool(self._about.ended)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if isinstance(error, TrainingStopped):
            error.__traceback__ = _without_ours(traceback)
        self._end(error)

    def close(self) -> None:
        """Watch no more. Nothing of the doctor is left in torch."""
        self._end(None)

    # ------------------------------------------------------------------------------------------------------- watching

    def _begin(self) -> None:
        if os.environ.get("AUTOGRAD_DOCTOR") == "1":
            self.unwatched = "the whole program runs under `doctor check`"
            return
        folder.check_free(self._path)
        if not under_way.acquire(blocking=False):
            self.unwatched = "another `watch()` or `monitor()` was active"
            return
        try:
            self._start()
        except BaseException:
            under_way.release()
            raise

    def _start(self) -> None:
        from autograd_doctor.runner.monitored import Judges, Monitored

        self._job.judged(Trace(()), self._target)  # what judges is loaded before the run begins
        self._about = About(
            tool=__version__,
            target=self._target,
            process=os.getpid(),
            host=socket.gethostname(),
            cwd=os.getcwd(),
            began=CLOCK.time(),
            rank=self._ranks.rank,
            size=self._ranks.size,
            budget=self._budget,
        )
        try:
            self._folder.begin(self._about)
        except OSError as error:
            raise Mistake(f"monitor(): {self._path}: cannot be written: {error.strerror}") from None
        telling = self._telling
        judges = Judges(self._plan, self._numbers.add, self._judged, lambda: telling.settles_at, self._failed)
        monitored = Monitored(judges, self._allowance)
        self._monitored = monitored
        monitored.begin()
        atexit.register(self._at_exit)

    def _at_exit(self) -> None:
        """What ended the program is in `sys.last_value`, if something did."""
        self._end(getattr(sys, "last_value", None))

    def _end(self, error: BaseException | None) -> None:
        if self._about is None or self._about.ended or os.getpid() != self._about.process:
            return
        atexit.unregister(self._at_exit)
        try:
            if self._monitored is not None:
                self._monitored.end(None if isinstance(error, TrainingStopped) else error)  # that is no crash
            with suppress(OSError):  # of a disk that is full was told before
                if self._latest is not None and not self._failure:
                    self._say(self._latest, [], self._telling.rest())
            with suppress(OSError):
                self._say_ended(self._about, error)
        finally:
            under_way.release()

    def _failed(self, error: Exception) -> None:
        """The training goes on, and nobody watches it."""
        self._failure = f"{type(error).__name__}: {error}"
        LOG.warning("the monitor of autograd_doctor has failed, and watches no more: %s", self._failure)

    def _say_ended(self, about: About, error: BaseException | None) -> None:
        now = CLOCK.time()
        how = f"{type(error).__name__} was raised" if error is not None else "it was over"
        self._about = msgspec.structs.replace(
            about,
            ended=now,
            how=how,
            failure=self._failure,
            steps=self.steps,
            seconds=round(now - about.began, 3),
            spent=round(self.spent, 3),
        )
        self._folder.say(self._about)

    def _plan(self, number: int, steps_before: int) -> Plan:
        self._folder.prune()
        needs = {event for rule in self._job.rules for event in rule.needs}
        return Plan(
            target=self._target,
            trace=str(self._folder.chapter(number)),
            scratch=str(self._folder.path),
            selected=[rule.code for rule in self._job.rules],
            needs=sorted(event.__name__ for event in needs),
            steps_before=steps_before,
            steps=0,
            seconds=0.0,
            batches_per_epoch=0,
            polite=False,
            ranks=self._ranks,
        )

    def _told_before(self, chapter: int) -> Iterator[str]:
        """Codes of what was told in earlier chapters."""
        return (code for number, codes in self._told_in.items() if number < chapter for code in codes)

    def _calibrate(self, number: int, report: plain.Report) -> None:
        if number == 1:
            self._opening = report
        elif number == 2 and self._opening is not None:
            self._telling.doubt(unsure(self._opening, report))
            self._opening = None

    def _judged(self, chapter: _Chapter, looked: Looked) -> BaseException | None:
        trace = as_if_left(recording.load(chapter.trace))
        report = dated(self._job.judged(trace, self._target, rules_for(self._job.rules, trace, looked)), trace)
        if looked == "closely":
            self._calibrate(chapter.number, report)
            self._telling.begin_look()
        told_before = self._told_before(chapter.number)
        follow = consequences(trace, told_before, self._job.rules, last=self._numbers.latest().loss)
        findings = [finding for finding in report.findings if finding.code not in follow]
        new = [finding for finding in findings if not self._telling.known(finding)]
        happens = {rule.code for rule in self._job.rules if not _HAPPEN.isdisjoint(rule.needs)}
        told = [
            finding
            for finding in findings
            if self._telling.is_told(finding, chapter.step, has_happened=looked != "closely" or finding.code in happens)
        ]
        self._latest = chapter
        return self._say(chapter, new, told)

    def _say(self, chapter: _Chapter, new: list[ReportedFinding], told: list[ReportedFinding]) -> BaseException | None:
        """Write down what is new, and what is told, and tell it; returns what is to be raised in the program."""
        step, at = chapter.step, CLOCK.time()
        self.findings += told
        self._told_in[chapter.number] = [*self._told_in.get(chapter.number, ()), *(finding.code for finding in told)]
        written = [*new, *(finding for finding in told if finding not in new)]
        self._folder.write(
            [Found(chapter=chapter.number, step=step, at=at, told=each in told, finding=each) for each in written]
        )
        stops = [self._telling.tell(finding, chapter.save) for finding in told]
        return next((stop for stop in stops if stop is not None), None)
