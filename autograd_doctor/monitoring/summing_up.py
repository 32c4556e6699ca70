"""One report on a run that was monitored, from what its processes have left."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from autograd_doctor import recording
from autograd_doctor.events.run import RecordingStarted
from autograd_doctor.findings import SEVERITIES, ExitCode
from autograd_doctor.judging.several_ranks import Part, together
from autograd_doctor.judging.verdict import faults
from autograd_doctor.mistakes import Mistake
from autograd_doctor.monitoring.chapters import as_if_left, closely, consequences, dated, rules_for, unsure
from autograd_doctor.monitoring.folder import About, Found, Numbers, RankFolder, rank_folders
from autograd_doctor.monitoring.latest import Follower
from autograd_doctor.plan import Target
from autograd_doctor.report import Report, ReportedFinding, Statistics
from autograd_doctor.rules import Rule
from autograd_doctor.trace import Trace
from autograd_doctor.wording import plural

Judge = Callable[[Trace, Target, Sequence[Rule] | None], Report]


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
    looks, pulses, steps, seconds = [], [], about.steps, about.seconds
    numbers = Follower()
    found = list(folder.found())
    for number, path in folder.chapters().items():
        trace = _load(path)
        whole = as_if_left(trace)
        told = (each.finding.code for each in found if each.told and each.chapter < number)
        follow = consequences(trace, told, rules)
        looks.append(_without(dated(judge(closely(whole), about.target, None), whole), follow))
        pulse = judge(whole, about.target, rules_for(rules, whole, "pulse"))
        pulses.append(_without(dated(pulse, whole), follow))
        steps = max(steps, *(event.step for event in trace.events[-1:]))
        seconds = about.seconds or _seconds(about, trace)
        for event in trace.events:
            numbers.add(event)
    report = _summed_up(looks, pulses, found, steps=steps)
    report = msgspec.structs.replace(report, run=msgspec.structs.replace(report.run, seconds=seconds))
    report = msgspec.structs.replace(report, notes=[*report.notes, *_last_seen(numbers.latest())])
    return _decided(report, pulses[-1], about, fail_on)


def _without(report: Report, codes: frozenset[str]) -> Report:
    return msgspec.structs.replace(report, findings=[each for each in report.findings if each.code not in codes])


def _last_seen(numbers: Numbers) -> Iterator[str]:
    """What a run had come to when it was last looked at."""
    loss = [f"a loss of {numbers.loss:.4g}"] if numbers.loss is not None else []
    memory = [f"{numbers.memory / 2**20:,.0f} MiB of memory"] if numbers.memory is not None else []
    if loss or memory:
        yield f"last recorded, in step {numbers.step:,}: {' and '.join([*loss, *memory])}"


def _seconds(about: About, trace: Trace) -> float:
    """Since the run began, until the last that a chapter has recorded."""
    began = next((event.began for event in trace.of(RecordingStarted)), about.began)
    return round(began - about.began + trace.events[-1].time, 3) if trace.events else 0.0


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


def _summed_up(looks: Sequence[Report], pulses: Sequence[Report], found: Sequence[Found], *, steps: int) -> Report:
    """The last close look, with what was found in all of them, and was not acquitted since."""
    latest = [finding for report in (looks[-1], pulses[-1]) for finding in report.findings]
    judged = {*looks[-1].checks.ran, *pulses[-1].checks.ran}
    told = {each.finding.fingerprint for each in found if each.told}
    doubted = unsure(*looks[:2]) - told if len(looks) > 1 else set()
    known = {finding.fingerprint: finding for finding in latest if finding.fingerprint not in doubted}
    earlier = [finding for report in (*looks, *pulses) for finding in report.findings]
    for finding in (*(each.finding for each in found), *earlier):
        is_acquitted = finding.code in judged and _may_be_acquitted(finding) and finding.fingerprint not in told
        if not is_acquitted and finding.fingerprint not in doubted:
            known.setdefault(finding.fingerprint, finding)
    findings = sorted(known.values(), key=lambda finding: SEVERITIES.index(finding.severity))
    end = pulses[-1].run
    run = msgspec.structs.replace(
        looks[-1].run,
        steps=steps,
        steps_in_full=sum(report.run.steps_in_full for report in looks),
        phases_seen=list(dict.fromkeys(phase for report in looks for phase in report.run.phases_seen)),
        stopped_by=end.stopped_by,
        program_exit=end.program_exit,
    )
    return msgspec.structs.replace(
        looks[-1],
        findings=findings,
        statistics=Statistics.of(findings),
        run=run,
        exit_reason=looks[-1].exit_reason.replace(plural(looks[-1].run.steps, "step"), plural(steps, "step")),
    )


def _decided(report: Report, last: Report, about: About, fail_on: str) -> Report:
    """With the verdict on the whole run: what was found, else how it ended, else the last close look."""
    decision = faults(report.findings, fail_on)
    if is_gone(about):
        said = (
            f"its process has gone without a word after at least {plural(report.run.steps, 'step')}: it was killed, as "
            "where memory ran out, or its machine was lost"
        )
        report = msgspec.structs.replace(
            report, run=msgspec.structs.replace(report.run, stopped_by="killed", program_exit=None)
        )
        decision = decision or ("program-failed", ExitCode.PROGRAM_FAILED, said)
    elif about.failure:
        said = f"the monitor failed after {plural(report.run.steps, 'step')}: {about.failure}"
        decision = decision or ("not-judged", ExitCode.NOT_JUDGED, said)
    elif last.verdict in ("program-failed", "interrupted"):
        decision = decision or (last.verdict, ExitCode(last.exit_code), last.exit_reason)
    if decision is None:
        return report
    verdict, code, reason = decision
    return msgspec.structs.replace(report, verdict=verdict, exit_code=int(code), exit_reason=reason)
