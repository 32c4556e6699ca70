"""Sentences and numbers that several formats share."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UNSET

from autograd_doctor.findings import SEVERITIES, Number
from autograd_doctor.notebook import cell_file, spoken
from autograd_doctor.report import Place, Report, Run, StoppedBy, Verdict
from autograd_doctor.reports import Reports
from autograd_doctor.wording import in_bytes, plural

_STOPPED: dict[StoppedBy, str] = {
    "finished": "the program ran to its end",
    "steps": "stopped after enough steps",
    "time": "stopped when time ran out",
    "hung": "the program hung and was terminated",
    "exited": "the program exited",
    "raised": "the program crashed",
    "interrupted": "interrupted",
    "killed": "the program was killed",
    "timeout": "the program hung and was terminated",
    "unknown": "it is not known how the program ended",
}

_NOT_JUDGED: tuple[Verdict, ...] = ("doctor-failed", "program-failed", "not-judged", "interrupted")


def listed(items: Sequence[str], limit: int) -> str:
    """Up to `limit` items and how many more there are."""
    shown = ", ".join(items[:limit])
    return shown if len(items) <= limit else f"{shown} and {len(items) - limit} more"


SUMMARY = (
    r"(\S+\s)?profiled\s+[\d,]+\s+iterations?\s+of\s|(\S+\s)?nothing\s+(else\s+)?(wrong|new)\s+seen\s+in\s+(all\s+)?\d+\s+steps?\s+of\s"
    r"|(?s:.{0,600}?)(\b\d+\s+checks?\s+found\s+nothing\s"
    r"|(?<!\S)(in\s+\d+\s+steps?|before\s+the\s+first\s+step)\s+of\s+training,\s+\d)"
    r"|(doctor\s+failed|program\s+failed|not\s+judged|interrupted):\s(?s:.{0,600}?)(?<!\S)(in\s+|\()[\d.]+\s+(s|min)\b"
    r"|(?:[^\n]|\n  ){0,300}?(?<!\S)(passed|was\s+not\s+judged):\s(?s:.{0,600}?),\s+[\d.]+\s+(s|min)\b"
    r"|(\d+\s+(errors?|warnings?|info),?\s+)+in\s(?s:.{0,300}?),\s+[\d.]+\s+(s|min)\b"
)
"""How a summary begins, in whatever lines it is broken; "found nothing" and "in 3 s" are of older reports."""


HEADED = r"target \d+ of \d+: [^\n]*\n|\d+ targets: \d+ "
"""How the text on several targets begins."""


def heading(reports: Reports, number: int, name: str) -> str:
    """What stands above the report on one of several targets."""
    return f"target {number} of {reports.total}: {name}"


def summary(report: Report) -> str:
    """The one line that says how it went."""
    counts = [
        plural(n, s) if s != "info" else f"{n} info" for s in SEVERITIES if (n := report.statistics.by_severity.get(s))
    ]
    if report.target.function is not UNSET:
        return _summary_of_function(report, counts)
    steps, took = plural(report.run.steps, "step"), seconds(report.run.seconds)
    seen = f"in {steps} of training, {took}" if report.run.steps else f"before the first step of training, {took}"
    if not was_judged(report):
        sentence = f"{report.verdict.replace('-', ' ')}: {report.exit_reason} ({took})"
        return ", ".join([sentence, *counts])
    ending = f"; {stopped(report)}" if _ended_badly(report.run) else ""
    if report.profile is not None and report.profile.alone:
        found = f"; {', '.join(counts)}" if counts else ""
        return f"profiled {plural(report.profile.iterations, 'iteration')} of {report.target.name} ({took}){found}"
    if counts:
        new = "new: " if report.baseline else ""
        return f"{new}{', '.join(counts)} {seen}{ending}{_silenced(report)}"
    if report.verdict == "faults":
        return f"{report.exit_reason} {seen}{ending}{_silenced(report)}"
    nothing = "nothing new" if report.baseline else "nothing else wrong" if report.suppressed else "nothing wrong"
    every = "all " if report.run.seen_whole and report.run.steps > 1 else ""
    looked = f"({plural(len(report.checks.ran), 'check')}, {took})"
    on = f" on {len(report.run.ranks)} ranks" if len(report.run.ranks) > 1 else ""
    found = f"{nothing} seen in {every}{steps} of {report.target.name}{on} {looked}"
    return f"{found}{ending}{_silenced(report)}{_blind(report)}"


def _silenced(report: Report) -> str:
    """How many findings do not count, and why. What was ignored is no news, and no health either."""
    kinds = [finding.suppressed.kind for finding in report.suppressed if finding.suppressed]
    known, ignored = kinds.count("baseline"), len(kinds) - kinds.count("baseline")
    said = [f"{known} known from {report.baseline.path}"] if known and report.baseline else []
    return "".join(f"; {each}" for each in [*said, *([f"{ignored} ignored"] if ignored else [])])


def _blind(report: Report) -> str:
    """How many rules were not checked, and why."""
    reasons = list(dict.fromkeys(report.checks.skipped.values()))
    blind = f"; {len(report.checks.skipped)} not checked: {listed(reasons, 2)}" if reasons else ""
    size = report.environment.world_size
    return f"{blind}; of {size} ranks this one alone was checked" if size > 1 >= len(report.run.ranks) else blind


def _summary_of_function(report: Report, counts: Sequence[str]) -> str:
    name, took = report.target.name, seconds(report.run.seconds)
    if not was_judged(report):
        return ", ".join([f"{name} was not judged: {report.exit_reason}", took, *counts])
    return f"{', '.join(counts)} in {name}, {took}" if counts else f"{name} passed: {report.exit_reason}, {took}"


def _ended_badly(run: Run) -> bool:
    return run.stopped_by in ("raised", "killed", "hung", "timeout") or (
        run.stopped_by == "exited" and run.program_exit != 0
    )


def was_judged(report: Report) -> bool:
    """Whether the check came to a verdict on the program, good or bad."""
    return report.verdict not in _NOT_JUDGED


def failed_by_itself(report: Report) -> bool:
    """Whether the check is not green for a reason that none of its findings tells."""
    return not was_judged(report) or (report.verdict == "faults" and not report.findings)


def machine(report: Report) -> list[str]:
    """What it ran on, as far as is known."""
    about = report.environment
    return [f"torch {about.torch} on {about.device}", f"Python {about.python}"] if about.torch else []


def stopped(report: Report) -> str:
    """Why no more was seen."""
    run = report.run
    if run.stopped_by == "exited":
        return f"the program exited with {run.program_exit}"
    if run.stopped_by == "steps" and report.target.block is not UNSET:
        return "the program went on, unwatched"
    return _STOPPED[run.stopped_by]


def line_of(place: Place) -> str:
    """ "train.py:12", "train.ipynb:cell 3:12"."""
    return spoken(f"{cell_file(place.path, place.cell)}:{place.line}")


def seconds(value: float) -> str:
    """ "0.42 s", "12.3 s", "4 min 10 s"."""
    if value >= 120:
        return f"{int(value) // 60} min {int(value) % 60} s"
    return f"{value:.2f} s" if value < 1 else f"{value:.1f} s"


def measured(name: str, value: Number | str | Sequence[str]) -> tuple[str, str]:
    """A piece of evidence as a label and a value: numbers to four digits, sizes with their unit."""
    label = name.replace("_", " ")
    if isinstance(value, str):
        return label, value
    if isinstance(value, int | float):
        if "bytes" in label.split() and abs(value) >= 1024:
            return label, f"{value:,} ({in_bytes(value)})"
        return label, f"{value:,}" if isinstance(value, int) else f"{value:.4g}"
    return label, listed(list(value), 8) or "none"
