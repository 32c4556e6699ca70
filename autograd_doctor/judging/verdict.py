"""The verdict on a run and the exit code that goes with it, the same for every output format."""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from autograd_doctor.events.errors import FunctionJudged
from autograd_doctor.findings import SEVERITIES, ExitCode
from autograd_doctor.judging.consequences import PROGRAM_CRASHED
from autograd_doctor.plan import Outcome
from autograd_doctor.report import BaselineFacts, ReportedFinding, Run, Verdict
from autograd_doctor.trace import Trace
from autograd_doctor.wording import plural, tensor

Decision = tuple[Verdict, ExitCode, str]
_CUT_OFF_AFTER = 2
"""Steps that must be seen where it is us who cut the run off: in one alone, nothing is done for a second time."""


class Doubts(NamedTuple):
    """What keeps a run from being called healthy although nothing was found.

    crashed: codes of the rules that failed themselves. missing: what the recording lacks, or does not explain.
    unchecked: codes of the rules for errors that a failed instrument kept from judging, by what failed.
    """

    crashed: Sequence[str]
    missing: Sequence[str]
    unchecked: Mapping[str, Sequence[str]]


def decide(
    findings: Sequence[ReportedFinding],
    run: Run,
    outcome: Outcome,
    doubts: Doubts,
    *,
    fail_on: str,
    min_steps: int,
    awaited: str = "",
) -> Decision:
    """Findings come first; then a failure of ours; then one of the program; and what was not seen is never healthy.

    `awaited` says what held learning up over the whole run, and would not have done so for ever.
    """
    failing = _failing(findings, fail_on)
    explained = any(finding.code != PROGRAM_CRASHED for finding in failing)
    if run.stopped_by == "interrupted":
        return "interrupted", ExitCode.INTERRUPTED, f"interrupted after {plural(run.steps, 'step')}"
    if run.steps == 0 and not explained and _failed(run):
        return "program-failed", ExitCode.PROGRAM_FAILED, f"the program {_end(run, outcome)} before any training step"
    if failing:
        return _faults(failing, findings, fail_on)
    if doubts.crashed:
        return _failed_ourselves(doubts)
    hung = run.stopped_by in ("hung", "timeout") and run.steps
    if run.stopped_by == "killed" or hung or (_failed(run) and not _explained(findings)):
        ended = f"the program {_end(run, outcome)} after {_at_least(run)}, which no rule explains"
        return "program-failed", ExitCode.PROGRAM_FAILED, ended
    if doubt := _not_seen(run, doubts):
        return "not-judged", ExitCode.NOT_JUDGED, doubt
    if awaited:
        return "not-judged", ExitCode.NOT_JUDGED, awaited
    needed = max(min_steps, _CUT_OFF_AFTER if run.stopped_by == "time" else 1)
    if run.steps < needed:
        return "not-judged", ExitCode.NOT_JUDGED, _too_few(run, needed)
    return "passed", ExitCode.OK, f"no finding at or above `{fail_on}` in {plural(run.steps, 'step')} of training"


def decide_on_function(
    findings: Sequence[ReportedFinding], trace: Trace, run: Run, outcome: Outcome, doubts: Doubts, *, fail_on: str
) -> Decision:
    """The same for one custom function, which is right only if it was judged to be."""
    judged = [event for event in trace.of(FunctionJudged) if event.requested]
    failing = _failing(findings, fail_on)
    open_question = next((event for event in judged if event.verdict == "not judged"), None)
    if run.stopped_by == "interrupted":
        return "interrupted", ExitCode.INTERRUPTED, "interrupted"
    if _failed(run) and all(finding.code == PROGRAM_CRASHED for finding in failing):
        return "program-failed", ExitCode.PROGRAM_FAILED, f"it {_end(run, outcome)} before it could be judged"
    if failing:
        return _faults(failing, findings, fail_on)
    if doubts.crashed:
        return _failed_ourselves(doubts)
    if doubt := _not_seen(run, doubts):
        return "not-judged", ExitCode.NOT_JUDGED, doubt
    if open_question is not None:
        return "not-judged", ExitCode.NOT_JUDGED, open_question.reason
    if not judged:
        slow = run.stopped_by in ("time", "timeout")
        return (
            "not-judged",
            ExitCode.NOT_JUDGED,
            "it took too long" if slow else ("the run ended before the function was called"),
        )
    if all(event.verdict == "right" for event in judged):
        return "passed", ExitCode.OK, _right(judged)
    return "passed", ExitCode.OK, f"no finding at or above `{fail_on}`"


def outdated(baseline: BaselineFacts) -> Decision:
    """What a gate says that wants its baseline kept up to date."""
    gone = plural(baseline.stale, "finding")
    return "faults", ExitCode.FINDINGS, f"stale: {gone} of {baseline.path} (`--strict-baseline`)"


def not_measured() -> Decision:
    """Where a profile was asked for, and no iteration was timed."""
    said = "no iteration was seen that tells how long one takes (`--steps` and `--max-seconds` watch longer)"
    return "not-judged", ExitCode.NOT_JUDGED, said


def faults(findings: Sequence[ReportedFinding], fail_on: str) -> Decision | None:
    """What findings alone decide, None if none of them fails the check."""
    failing = _failing(findings, fail_on)
    return _faults(failing, findings, fail_on) if failing else None


def _faults(failing: Sequence[ReportedFinding], findings: Sequence[ReportedFinding], fail_on: str) -> Decision:
    return "faults", ExitCode.FINDINGS, f"{len(failing)} of {plural(len(findings), 'finding')} at or above `{fail_on}`"


def _failed_ourselves(doubts: Doubts) -> Decision:
    which = f"the rule {doubts.crashed[0]}" if len(doubts.crashed) == 1 else f"the rules {', '.join(doubts.crashed)}"
    return "doctor-failed", ExitCode.USAGE, f"{which} crashed, which is a bug of autograd_doctor"


def _not_seen(run: Run, doubts: Doubts) -> str:
    """What may have hidden a fault, empty if nothing did."""
    if doubts.missing and run.stopped_by != "timeout":
        return "; ".join(doubts.missing)
    for failure, codes in doubts.unchecked.items():
        more = f" and {len(codes) - 4} more" if len(codes) > 4 else ""
        return f"{failure}, so {', '.join(codes[:4])}{more} could not be checked"
    return ""


def _right(judged: Sequence[FunctionJudged]) -> str:
    twice = any(event.double for event in judged)
    what = "first and second derivatives agree" if twice else "its gradient agrees"
    return f"{what} with finite differences on {' and '.join(map(tensor, judged[0].judged_on))}"


def _failing(findings: Sequence[ReportedFinding], fail_on: str) -> list[ReportedFinding]:
    if fail_on not in SEVERITIES:
        return []
    threshold = SEVERITIES.index(fail_on)
    return [finding for finding in findings if SEVERITIES.index(finding.severity) <= threshold]


def _explained(findings: Sequence[ReportedFinding]) -> bool:
    return any(finding.explains_crash for finding in findings)


def _failed(run: Run) -> bool:
    return run.stopped_by in ("raised", "killed") or (run.stopped_by == "exited" and run.program_exit != 0)


def _end(run: Run, outcome: Outcome) -> str:
    if run.stopped_by == "killed" and outcome.signal is not None:
        return f"was killed by {_signal_name(outcome.signal)}"
    if run.stopped_by in ("hung", "timeout"):
        return "hung"
    return "crashed" if run.stopped_by == "raised" else f"exited with {run.program_exit}"


def _at_least(run: Run) -> str:
    """Of a program that was killed, the steps since light ones were last counted are not known."""
    steps = plural(run.steps, "step")
    return f"at least {steps}" if run.stopped_by == "killed" and run.steps > run.steps_in_full else steps


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _too_few(run: Run, min_steps: int) -> str:
    if run.steps:
        return f"only {plural(run.steps, 'step')} of training seen, {min_steps} are needed"
    if run.stopped_by in ("hung", "timeout"):
        return "no training step was seen before the program hung"
    if run.micro_batches:
        return f"{plural(run.micro_batches, 'backward')} ran, but no optimizer step completed"
    if run.processes_started:
        others = "another process" if run.processes_started == 1 else f"{run.processes_started} other processes"
        return (
            f"no training step was seen in this process, and the program started {others}, which the doctor did not "
            "watch"
        )
    return "no training step was seen"
