"""`doctor fix` from end to end: check, try changes, confirm them with other random numbers, report, write."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import msgspec

from autograd_doctor.command import checking, outputs, writing
from autograd_doctor.command.checking import Ran
from autograd_doctor.command.request import Request, note
from autograd_doctor.command.running import put_abandoned_back, was_refused, watch
from autograd_doctor.command.verdict import exit_code, report_on
from autograd_doctor.events.steps import BatchDrawn
from autograd_doctor.findings import ExitCode
from autograd_doctor.fixing.candidate import Candidate
from autograd_doctor.fixing.changed_sources import Sources
from autograd_doctor.fixing.diffs import patch
from autograd_doctor.interrupts import interrupts
from autograd_doctor.judging import source
from autograd_doctor.mistakes import Mistake
from autograd_doctor.plan import Plan
from autograd_doctor.proving.proof import Seen
from autograd_doctor.proving.proposing import untouchable
from autograd_doctor.proving.trying import Series, Trial, confirmed, tried
from autograd_doctor.renderers.wording import line_of
from autograd_doctor.report import Fixing, Report, ReportedFinding, Tried

_TO_THE_END = 1_000
"""Steps beyond those of a program that came to its end: with a change it may take a few more."""


def fix(request: Request, *, seconds: float, apply: bool, diff: Path | None) -> int:
    """Check a program, try changes for what is found, and tell which are proven; returns the exit code.

    seconds: how long changes are tried. apply: write the proven ones into the files. Raises `Mistake`.
    """
    settled = checking.settle(request)
    if request.asked.nproc_per_node or request.rank_reports:
        raise Mistake("doctor fix: changes are tried in one process; run it without ranks")
    if diff is not None:
        writing.check(diff, "patch", Path(settled.what.name))
    with interrupts():
        put_abandoned_back(request)
        ran = checking.ran(settled)
        if was_refused(ran.run, ran.what):
            return ExitCode.USAGE
        before = Seen(Sources(), ran.run.trace, report_on(ran.run, ran.what, ran.job))
        trials = _Trials(request, ran, before, until=time.monotonic() + seconds)
        series = tried(before, trials.run, lambda: trials.reference, is_over=trials.is_over)
        series = trials.confirmed(series)
    if ran.run.members:
        series.failed.append("no change was tried: the program trains in several processes")
    series.cut_off &= not (ran.run.members or trials.was_interrupted)
    code = _told(request, ran, before, series, apply=apply, diff=diff)
    return ExitCode.INTERRUPTED if trials.was_interrupted else code


class _Trials:
    """Runs of the program with changes. Each begins with the same random numbers, and goes as far as the first."""

    def __init__(self, request: Request, ran: Ran, before: Seen, *, until: float) -> None:
        self._request = request
        self._ran = ran
        self._before = before
        self._until = until
        self._plan = as_far(ran.plan, before)
        self._count = 0
        self.was_interrupted = ran.run.outcome.interrupted

    def is_over(self) -> bool:
        """Whether there is no time for another one, or none is to be."""
        return time.monotonic() > self._until or self.was_interrupted or bool(self._ran.run.members)

    def run(self, candidate: Candidate) -> Seen:
        """What is seen of the program with a change."""
        self._count += 1
        note(self._request, f"trying a change: {candidate.description}")
        return self._seen(candidate.sources, self._plan, f"change {self._count}")

    @cached_property
    def reference(self) -> Seen:
        """The program as it is, cut and stopped as it is with changes."""
        if not any(drawn.cut for drawn in self._before.trace.of(BatchDrawn)):
            return self._before
        return self._seen(self._before.sources, self._plan, "as it is")

    def confirmed(self, series: Series) -> Series:
        """The same, where what is proven holds with other random numbers, too."""
        if series.now is self._before or self.is_over():
            return series
        note(self._request, "running the changed program with other random numbers")
        plan = msgspec.structs.replace(self._plan, seed=(self._plan.seed or 0) ^ 1, reseeds=True)
        again = self._seen(series.now.sources, plan, "other numbers")
        return series if self.was_interrupted else confirmed(series, again)

    def _seen(self, sources: Sources, plan: Plan, called: str) -> Seen:
        plan = msgspec.structs.replace(plan, overlay=sources.changed)
        run = watch(self._request, plan, self._ran.job, called, silent=True)
        self.was_interrupted |= run.outcome.interrupted
        with source.overlaid(sources.changed):
            return Seen(sources, run.trace, report_on(run, self._ran.what, self._ran.job))


def as_far(plan: Plan, before: Seen) -> Plan:
    """A plan that does not look at the clock, so that two runs end in the same step."""
    run = before.report.run
    ended = run.stopped_by in ("finished", "exited")
    was_cut = any(drawn.cut for drawn in before.trace.of(BatchDrawn))
    return msgspec.structs.replace(
        plan,
        steps=max(run.steps + (_TO_THE_END if ended else 0), plan.steps, 1),
        seconds=0.0,
        max_seconds=max(plan.max_seconds, 2 * run.seconds),
        batches_per_epoch=plan.batches_per_epoch if was_cut else 0,
        runs_again=False,
    )


# ---------------------------------------------------------------------------------------------------------- the report


def _told(request: Request, ran: Ran, before: Seen, series: Series, *, apply: bool, diff: Path | None) -> int:
    whole = patch(before.sources, series.now.sources, before.report.target.cwd)
    failed: list[Mistake] = []
    written: list[str] = []
    if diff is not None and not whole:
        note(request, f"{diff} was not written: no change is proven")
    elif diff is not None:
        with writing.noting(failed):
            writing.write(diff, whole)
    if apply:
        with writing.noting(failed):
            written = write(before.sources, series.now.sources)
    report = with_trials(before.report, series, whole, written)
    originals = {file: before.sources.data(file) for file in series.now.sources.changed}
    with source.overlaid(originals):
        failed += outputs.write(report, ran.job.outputs, ran.job.settings.color)
    writing.tell(failed)
    return exit_code(series.now.report, request.asked.exit_zero)


def with_trials(report: Report, series: Series, whole: bytes, written: Sequence[str]) -> Report:
    """The report on the program as it is, with what was tried."""
    known = {finding.fingerprint for finding in report.findings}
    return msgspec.structs.replace(
        report,
        findings=[_with_fix(finding, series.trials) for finding in report.findings],
        notes=[*report.notes, *untouchable(report), *dict.fromkeys(series.failed)],
        fixing=Fixing(
            tried=[_reported(trial, later=trial.finding.fingerprint not in known) for trial in series.trials],
            diff=whole.decode(errors="replace"),
            left=[f"`{each.code}` {each.name} ({each.severity})" for each in series.now.report.findings],
            exit_code=series.now.report.exit_code,
            written=list(written),
            cut_off=series.cut_off,
        ),
    )


def _reported(trial: Trial, *, later: bool) -> Tried:
    finding = trial.finding
    return Tried(
        code=finding.code,
        name=finding.name,
        title=finding.title,
        fingerprint=finding.fingerprint,
        place=line_of(finding.location) if finding.location else "",
        fix=trial.fix,
        later=later,
    )


def _with_fix(finding: ReportedFinding, trials: Sequence[Trial]) -> ReportedFinding:
    """The change that is proven, else the first that was tried."""
    own = [trial for trial in trials if trial.finding.fingerprint == finding.fingerprint]
    best = next((each for each in own if each.is_proven), own[0] if own else None)
    return msgspec.structs.replace(finding, fix=best.fix if best is not None else finding.fix)


# ------------------------------------------------------------------------------------------------------------- writing


def write(before: Sources, after: Sources) -> list[str]:
    """The proven changes, into the files. Raises `Mistake`, with nothing written, where one is not as it was read."""
    for file in after.changed:
        if Path(file).read_bytes() != before.data(file):
            raise Mistake(f"{file}: not changed: something else has written to it since it was checked")
    for file, data in after.changed.items():
        writing.write(Path(file), data)
    return [os.path.relpath(file) for file in after.changed]
