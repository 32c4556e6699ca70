"""The verdict on a run and the exit code that goes with it, the same for every output format."""

from __future__ import annotations

import signal
from collections.abc import Sequence

from autograd_doctor.events import FunctionJudged
from autograd_doctor.findings import SEVERITIES, ExitCode
from autograd_doctor.judging.consequences import PROGRAM_CRASHED
from autograd_doctor.plan import Outcome
from autograd_doctor.report import ReportedFinding, Run, Verdict
from autograd_doctor.trace import Trace
from autograd_doctor.wording import plural, tensor

Decision = tuple[Verdict, ExitCode, str]


def decide(
    findings: Sequence[ReportedFinding], run: Run, outcome: Outcome, *, fail_on: str, min_steps: int, awaited: str = ""
) -> Decision:
    """Findings come first; then a program that failed; and what was not seen is never called healthy.

    `awaited` says what held learning up over the whole run, and would not have done so for ever.
    """
    failing = _failing(findings, fail_on)
    explained = any(finding.code != PROGRAM_CRASHED for finding in failing)
    if run.stopped_by == "interrupted":
        return "interrupted", ExitCode.INTERRUPTED, f"asked to stop after {plural(run.steps, 'step')}"
    if run.steps == 0 and not explained and _failed(run):
        return "program-failed", ExitCode.PROGRAM_FAILED, f"the program {_end(run, outcome)} before any training step"
    if failing:
        return (
            "faults",
            ExitCode.FINDINGS,
            f"{len(failing)} of {plural(len(findings), 'finding')} at or above `{fail_on}`",
        )
    if run.stopped_by == "killed" or (run.stopped_by == "timeout" and run.steps):
        ended = f"the program {_end(run, outcome)} after {plural(run.steps, 'step')}, which no rule explains"
        return "program-failed", ExitCode.PROGRAM_FAILED, ended
    if awaited:
        return "not-judged", ExitCode.NOT_JUDGED, awaited
    if run.steps < max(1, min_steps):
        return "not-judged", ExitCode.NOT_JUDGED, _too_few(run, min_steps)
    return "passed", ExitCode.OK, f"no finding at or above `{fail_on}` in {plural(run.steps, 'step')} of training"


def decide_on_function(
    findings: Sequence[ReportedFinding], trace: Trace, run: Run, outcome: Outcome, *, fail_on: str
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
        return (
            "faults",
            ExitCode.FINDINGS,
            f"{len(failing)} of {plural(len(findings), 'finding')} at or above `{fail_on}`",
        )
    if open_question is not None:
        return "not-judged", ExitCode.NOT_JUDGED, open_question.reason
    if not judged:
        slow = run.stopped_by in ("time", "timeout")
        return "not-judged", ExitCode.NOT_JUDGED, "it took too long" if slow else "the run ended before it was called"
    if all(event.verdict == "right" for event in judged):
        return "passed", ExitCode.OK, _right(judged)
    return "passed", ExitCode.OK, f"no finding at or above `{fail_on}`"


def _right(judged: Sequence[FunctionJudged]) -> str:
    twice = any(event.double for event in judged)
    what = "first and second derivatives agree" if twice else "its gradient agrees"
    return f"{what} with difference quotients on {' and '.join(map(tensor, judged[0].judged_on))}"


def _at_or_above(fail_on: str, failing: int, findings: int) -> str:
    return f"{failing} of {plural(findings, 'finding')} at or above `{fail_on}`"


def _failing(findings: Sequence[ReportedFinding], fail_on: str) -> list[ReportedFinding]:
    if fail_on not in SEVERITIES:
        return []
    threshold = SEVERITIES.index(fail_on)
    return [finding for finding in findings if SEVERITIES.index(finding.severity) <= threshold]


def _failed(run: Run) -> bool:
    return run.stopped_by in ("raised", "killed") or (run.stopped_by == "exited" and run.program_exit != 0)


def _end(run: Run, outcome: Outcome) -> str:
    if run.stopped_by == "killed" and outcome.signal is not None:
        return f"was killed by {_signal_name(outcome.signal)}"
    if run.stopped_by == "timeout":
        return "hung"
    return "crashed" if run.stopped_by == "raised" else f"exited with {run.program_exit}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _too_few(run: Run, min_steps: int) -> str:
    if run.steps:
        return f"only {plural(run.steps, 'step')} of training seen, {min_steps} are needed to judge"
    if run.stopped_by == "timeout":
        return "no training step was seen before the program hung"
    return "no training step was seen"
