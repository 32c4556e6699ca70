"""From a trace to a report: examine, fold consequences, suppress, decide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from autograd_doctor import __version__
from autograd_doctor.accepted import Accepted
from autograd_doctor.events.run import CellRan
from autograd_doctor.findings import ExitCode, Finding, Number
from autograd_doctor.judging import run_summary, source
from autograd_doctor.judging.advice import advice
from autograd_doctor.judging.consequences import PROGRAM_CRASHED, Case, cases
from autograd_doctor.judging.examination import examine
from autograd_doctor.judging.placing import placed
from autograd_doctor.judging.presentation import Presenter
from autograd_doctor.judging.reached import Reached
from autograd_doctor.judging.run_course import course, profile
from autograd_doctor.judging.silence import Silence
from autograd_doctor.judging.unexplained import unexplained
from autograd_doctor.judging.unreached import unreached
from autograd_doctor.judging.verdict import Doubts, decide, decide_on_function, not_measured, outdated
from autograd_doctor.plan import Outcome, Target
from autograd_doctor.recording import missing
from autograd_doctor.report import (
    SCHEMA_VERSION,
    Checks,
    Report,
    ReportedFinding,
    Statistics,
    TargetFacts,
    Tool,
    writable,
)
from autograd_doctor.rules import Rule
from autograd_doctor.trace import Trace
from autograd_doctor.views.learning import awaited
from autograd_doctor.views.so_far import has_ended

_NOTHING_BUT_COMMENTS = Accepted()
_WHOLE_PROGRAMS = ("script", "module", "notebook", "call")
"""Targets of which all that trains was to be seen."""
_NAMED = 20


def judge(
    trace: Trace,
    rules: Sequence[Rule],
    tunables: Mapping[str, Mapping[str, Number]],
    *,
    target: Target,
    fail_on: str,
    min_steps: int,
    outcome: Outcome,
    accepted: Accepted = _NOTHING_BUT_COMMENTS,
    between: Sequence[Finding] = (),
) -> Report:
    """The report on a trace. `tunables` are by code and replace a rule's defaults one by one.

    between: what was found by comparing this rank of several with the others.

    `fail_on` is the least severity that fails the check; any word that is no severity lets everything pass.
    """
    about, cells = run_summary.target_facts(trace, target), trace.of(CellRan)
    with source.running(cells, about.cwd):
        return _judged(
            trace,
            rules,
            tunables,
            about,
            Presenter(about.cwd, {cell.file: cell.number for cell in cells}),
            target=target,
            fail_on=fail_on,
            min_steps=min_steps,
            outcome=outcome,
            accepted=accepted,
            between=between,
        )


def _judged(
    trace: Trace,
    rules: Sequence[Rule],
    tunables: Mapping[str, Mapping[str, Number]],
    about: TargetFacts,
    presenter: Presenter,
    *,
    target: Target,
    fail_on: str,
    min_steps: int,
    outcome: Outcome,
    accepted: Accepted,
    between: Sequence[Finding],
) -> Report:
    reached = Reached(trace, about.cwd)
    run = run_summary.run_facts(trace, outcome)
    if target.kind in _WHOLE_PROGRAMS:
        script = str(Path(about.cwd, target.name)) if target.kind == "script" else ""
        never = unreached(trace, reached, script)[:_NAMED]
        missed = [presenter.place(place) for place in never]
        run = msgspec.structs.replace(run, seen_whole=has_ended(trace), not_reached=missed)
    examination = examine(trace, rules, tunables)
    found = [*examination.findings, *between]
    if target.kind == "model":
        found = [placed(finding, trace) for finding in found]
    silence = Silence(accepted, about.cwd, target.name)
    settled = silence.known(
        [_reported(case, silence, presenter) for case in cases(found, {rule.code: rule.folds for rule in rules})]
    )
    findings = [finding for finding in settled if finding.suppressed is None]
    lacking = [*missing(trace), *unexplained(trace, outcome, run.stopped_by)]
    doubts = Doubts(examination.crashed, lacking, examination.unchecked)
    if target.kind == "function":
        verdict, exit_code, reason = decide_on_function(findings, trace, run, outcome, doubts, fail_on=fail_on)
    else:
        verdict, exit_code, reason = decide(
            findings, run, outcome, doubts, fail_on=fail_on, min_steps=min_steps, awaited=awaited(trace)
        )
    measured = profile(trace, presenter)
    if measured is not None and not measured.iterations and verdict == "passed":
        verdict, exit_code, reason = not_measured()
    baseline = silence.baseline(examination, settled)
    if accepted.strict and baseline and baseline.stale and exit_code == ExitCode.OK:
        verdict, exit_code, reason = outdated(baseline)
    report = Report(
        schema_version=SCHEMA_VERSION,
        tool=Tool("autograd_doctor", __version__),
        target=about,
        environment=run_summary.environment(trace),
        assumed=run_summary.assumed(trace),
        run=run,
        verdict=verdict,
        exit_code=int(exit_code),
        exit_reason=reason,
        findings=findings,
        suppressed=[finding for finding in settled if finding.suppressed is not None],
        checks=Checks(examination.ran, examination.skipped),
        statistics=Statistics.of(findings),
        baseline=baseline,
        notes=[
            *map(presenter.text, run_summary.notes(trace, outcome)),
            *silence.notes(trace, reached, rules, examination, presenter),
        ],
        course=course(trace, presenter),
        profile=measured,
    )
    return writable(msgspec.structs.replace(report, advice=advice(report, trace)))


def _reported(case: Case, silence: Silence, presenter: Presenter) -> ReportedFinding:
    return presenter.finding(
        case.finding,
        notes=[_consequence(finding, presenter) for finding in case.consequences if not silence.of(finding)],
        explains_crash=case.reports_crash,
        suppressed=silence.of(case.finding),
    )


def _consequence(finding: Finding, presenter: Presenter) -> str:
    if finding.code == PROGRAM_CRASHED:
        return f"this crashed the program (`{finding.code}` {finding.name})"
    place = f" at {presenter.line(finding.location.path, finding.location.line)}" if finding.location else ""
    return f"as a consequence, {finding.message} (`{finding.code}` {finding.name}{place})"
