"""What is said beside the findings, and beside each of them: rows of a label and a sentence."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import filterfalse

from msgspec import UNSET

from autograd_doctor.renderers.wording import line_of, listed, was_judged
from autograd_doctor.report import Report, ReportedFinding, Run, StoppedBy
from autograd_doctor.wording import plural

_CONFIDENCE = {"medium": "medium: the cause was inferred, not observed", "low": "low: a heuristic, verify it"}

_FURTHER: dict[StoppedBy, str] = {"steps": "`--steps` or `--seconds`", "time": "`--max-seconds`"}

_BETWEEN_RANKS = {
    "weights and buffers": "AD902",
    "gradients": "AD901",
    "the same data on two ranks": "AD905",
    "ranks waiting for one another": "AD906",
    "rates and weights that a rank chooses by a number of its own": "AD907",
}
"""What shows only where several are compared, and the rule that does so."""


def between_ranks(report: Report) -> str:
    """What of it was not compared."""
    return ", ".join(what for what, rule in _BETWEEN_RANKS.items() if rule not in report.checks.ran)


def is_function(report: Report) -> bool:
    """Whether a custom function was judged by itself, rather than a training program."""
    return report.target.function is not UNSET


def is_profile(report: Report) -> bool:
    """Whether nothing but a profile was asked for."""
    return report.profile is not None and report.profile.alone


def command(report: Report) -> str:
    """What was asked for, without its options: "doctor check -m train --lr 0.1", "watched train.py:12"."""
    if report.target.block is not UNSET:
        return f"watched {report.target.block}"
    typed = shlex.join(report.target.argv)
    if is_function(report):
        return f"doctor gradcheck {typed}"
    what = "profile" if is_profile(report) else "fix" if report.fixing is not None else "check"
    return f"doctor {what}{' -m' if report.target.module is not UNSET else ''} {typed}"


def subject_of(finding: ReportedFinding) -> str:
    """What the finding is about, in backticks; empty if it says so itself."""
    said = not finding.subject or finding.subject in finding.message + finding.title
    return "" if said else f"`{finding.subject}`"


def doubts(finding: ReportedFinding, run: Run) -> Iterator[tuple[str, str]]:
    """On which ranks it was seen, how often, how sure it is, and its notes."""
    if len(run.ranks) > 1 and finding.ranks:
        yield "ranks", _ranks(finding.ranks, run.ranks)
    if finding.step_count > 1:
        yield "seen", _seen(finding, run)
    if finding.confidence in _CONFIDENCE:
        yield "confidence", _CONFIDENCE[finding.confidence]
    yield from (("note", note) for note in finding.notes)


def _ranks(having: Sequence[int], watched: Sequence[int]) -> str:
    """On which of several it was found, with runs of numbers as one."""
    if set(having) >= set(watched):
        return f"on all {len(watched)} ranks"
    runs: list[list[int]] = []
    for rank in sorted(having):
        if runs and rank == runs[-1][-1] + 1:
            runs[-1].append(rank)
        else:
            runs.append([rank])
    spans = [f"{each[0]}-{each[-1]}" if len(each) > 2 else ", ".join(map(str, each)) for each in runs]
    return f"on rank{'s' if len(having) > 1 else ''} {listed(spans, 8)} only, of {len(watched)}"


def _seen(finding: ReportedFinding, run: Run) -> str:
    """In which steps: most rules look at those that were recorded in full, which others may have been like."""
    first = f"first in step {finding.step_first}"
    if finding.step_count <= run.steps_in_full < run.steps:
        recorded = f"{run.steps_in_full:,} of {run.steps:,} recorded in full"
        return f"in at least {plural(finding.step_count, 'step')}, {first} ({recorded})"
    return f"in {plural(finding.step_count, 'step')}, {first}"


def remarks(report: Report) -> Iterator[tuple[str, str]]:
    """What could not be judged, what was silenced, what the doctor changed, what it cannot tell, what to do next.

    Of a profile that was made, only what the doctor changed matters.
    """
    if is_profile(report) and was_judged(report):
        yield from (("note", note) for note in report.notes)
        return
    reasons: dict[str, list[str]] = {}
    for code, reason in report.checks.skipped.items() if not is_function(report) else ():
        reasons.setdefault(reason, []).append(code)
    for reason, codes in reasons.items():
        yield "not checked", f"{reason}: {listed(codes, 4)}"
    if report.environment.world_size > 1 and (left := between_ranks(report)):
        yield "not checked", f"what shows only between ranks: {left}"
    known = [finding.code for finding in report.suppressed if _is_known(finding)]
    if known and report.baseline:
        yield "known", f"from {report.baseline.path}: {listed(_counted(known), 8)}"
    for finding in filterfalse(_is_known, report.suppressed):
        place = f" at {line_of(finding.location)}" if finding.location else ""
        reason = finding.suppressed.reason if finding.suppressed else ""
        yield "suppressed", f"{finding.code}{place}{f': {reason}' if reason else ''}"
    for note in report.notes:
        yield "note", note
    if report.run.not_reached:
        yield "not reached", _not_reached(report.run)
    if report.run.steps:
        yield "cannot tell", _limits(report)
    elif is_function(report) and report.verdict == "passed" and not report.findings:
        yield "cannot tell", "whether it is right for other inputs: derivatives were measured at one point"
    yield from (("next", each) for each in report.advice)


def _is_known(finding: ReportedFinding) -> bool:
    return finding.suppressed is not None and finding.suppressed.kind == "baseline"


def _counted(codes: Sequence[str]) -> list[str]:
    return [code if count == 1 else f"{count} x {code}" for code, count in Counter(codes).items()]


def _not_reached(run: Run) -> str:
    """Stages of the training that were not seen, and what would let them be."""
    named = [
        f"`{place.function}` ({line_of(place)})" if place.function else line_of(place) for place in run.not_reached
    ]
    return f"{listed(named, 4)}: {unreached(run)}"


def unreached(run: Run) -> str:
    """What is true of all that was not reached."""
    what = "no backward of these ran" if len(run.not_reached) > 1 else "its backward never ran"
    further = _FURTHER.get(run.stopped_by)
    return f"{what}{f'; raise {further} to watch longer' if further else ''}"


def _limits(report: Report) -> str:
    if report.run.seen_whole:
        return "what other processes do, and whether the model learns well"
    seen = "this one step" if report.run.steps == 1 else f"these {plural(report.run.steps, 'step')}"
    return f"what happens after {seen}, what other processes do, and whether the model learns well"
