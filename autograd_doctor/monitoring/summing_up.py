"""One report on a run that was monitored, from what its processes have left."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from autograd_doctor import recording
from autograd_doctor.findings import SEVERITIES
from autograd_doctor.judging.several_ranks import Part, together
from autograd_doctor.judging.verdict import faults
from autograd_doctor.mistakes import Mistake
from autograd_doctor.monitoring.chapters import as_if_left, closely, rules_for
from autograd_doctor.monitoring.folder import About, Found, RankFolder, rank_folders
from autograd_doctor.plan import Outcome, Target
from autograd_doctor.report import Report, ReportedFinding, Statistics
from autograd_doctor.rules import Rule
from autograd_doctor.trace import Trace

Judge = Callable[[Trace, Target, Sequence[Rule] | None, Outcome | None], Report]
_KILLED = 9


def report_on(path: Path, judge: Judge, rules: Sequence[Rule], *, fail_on: str) -> Report:
    """What is known of a run. Raises `Mistake` where the folder holds none, and where a chapter cannot be read."""
    folders = rank_folders(path)
    if not folders:
        raise Mistake(f"{path}: no run is recorded here")
    parts = []
    for each in folders:
        about = each.about()
        if about is not None and each.chapters():
            report = _of_process(each, about, judge, rules, fail_on)
            parts.append(Part(about.rank, about.size, report))
    if not parts:
        raise Mistake(f"{path}: nothing was recorded yet")
    return parts[0].report if len(parts) == 1 else together(parts, fail_on=fail_on)


def is_gone(about: About) -> bool:
    """Whether a process of this machine is no longer there, and has not said that it was over."""
    if about.ended or about.host != socket.gethostname():
        return False
    try:
        os.kill(about.process, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


def _of_process(folder: RankFolder, about: About, judge: Judge, rules: Sequence[Rule], fail_on: str) -> Report:
    outcome = Outcome(exit_code=None, signal=_KILLED) if is_gone(about) else None
    chapters = folder.chapters()
    last = max(chapters)
    reports = []
    for number, path in chapters.items():
        trace = _load(path)
        is_last_word = number == last and outcome is not None
        whole = trace if is_last_word else as_if_left(trace)
        reports.append(judge(closely(whole), about.target, None, outcome if is_last_word else None))
        reports.append(judge(whole, about.target, rules_for(rules, whole, "pulse"), None))
    return _summed_up(reports, list(folder.found()), about, fail_on)


def _may_be_acquitted(finding: ReportedFinding) -> bool:
    """What is not sure is so for as long as it is found again."""
    return finding.severity != "error" and finding.confidence != "high"


def _load(path: Path) -> Trace:
    try:
        return recording.load(path)
    except recording.TraceError as error:
        raise Mistake(str(error)) from None
    except OSError as error:
        raise Mistake(f"{path}: cannot be read: {error.strerror}") from None


def _summed_up(reports: Sequence[Report], found: Sequence[Found], about: About, fail_on: str) -> Report:
    """The last close look, with what was found in all of them, and was not acquitted since."""
    latest = {finding.fingerprint: finding for report in reports[-2:] for finding in report.findings}
    judged = {code for report in reports[-2:] for code in report.checks.ran}
    known = dict(latest)
    told = {each.finding.fingerprint for each in found if each.told}
    for finding in (*(each.finding for each in found), *(one for report in reports for one in report.findings)):
        is_acquitted = finding.code in judged and _may_be_acquitted(finding) and finding.fingerprint not in told
        if not is_acquitted:
            known.setdefault(finding.fingerprint, finding)
    findings = sorted(known.values(), key=lambda finding: SEVERITIES.index(finding.severity))
    looks, last = reports[::2], reports[-2]
    steps = max([about.steps, *(report.run.steps for report in reports)])
    run = msgspec.structs.replace(
        last.run,
        steps=steps,
        steps_in_full=sum(report.run.steps_in_full for report in looks),
        seconds=about.seconds or last.run.seconds,
        phases_seen=list(dict.fromkeys(phase for report in looks for phase in report.run.phases_seen)),
    )
    report = msgspec.structs.replace(last, findings=findings, statistics=Statistics.of(findings), run=run)
    decided = faults(findings, fail_on)
    if decided is not None:
        verdict, code, reason = decided
        report = msgspec.structs.replace(report, verdict=verdict, exit_code=int(code), exit_reason=reason)
    return report
