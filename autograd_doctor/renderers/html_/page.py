"""The page: a template filled with words that the other formats use, and data that a script draws."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from autograd_doctor.profiling import Profile
from autograd_doctor.renderers import Earlier, Part, remarks
from autograd_doctor.renderers.changes import outcome as outcome_of_changes
from autograd_doctor.renderers.frames import frames
from autograd_doctor.renderers.full import seen
from autograd_doctor.renderers.html_.change_shown import HEIGHT, WIDTH, came_to_light, change_of
from autograd_doctor.renderers.html_.code import code_lines, unplaced
from autograd_doctor.renderers.one_finding import marks, where
from autograd_doctor.renderers.printable import printable
from autograd_doctor.renderers.profile_tables import Table, pace, tables
from autograd_doctor.renderers.since import became
from autograd_doctor.renderers.wording import heading, line_of, machine, measured, stopped, summary
from autograd_doctor.report import Report, ReportedFinding, Run
from autograd_doctor.reports import Reports, closing, outcome
from autograd_doctor.rules import Rule, all_rules
from autograd_doctor.run_course import Course, Measured, Series
from autograd_doctor.wording import first_line, in_bytes, plural

_FEW = 2
"""Findings that need no list of them."""
_ASSETS = Path(__file__).with_name("assets")
_ELSEWHERE = ("not checked", "not reached", "suppressed")
"""Remarks that a section of their own tells in full."""
_ICONS = {"good": "✓", "error": "✕", "warning": "!", "info": "i", "unjudged": "?"}
_MOST_UNREACHED = 30
_COLOURED = 8
"""As many lines as a plot holds have a colour in the style."""
_QUANTITIES = {
    "loss": "Loss",
    "gradient norm": "Gradient norm",
    "update ratio": "Update to weight",
    "learning rate": "Learning rate",
    "memory": "Memory",
}


def page(report: Report, earlier: Earlier | None = None) -> str:
    """One file of HTML that loads nothing: styles, scripts and data lie in it, and nothing else may run."""
    course = report.course
    return _page(
        title=report.target.name,
        tool=report.tool,
        plots=_plots(course, earlier),
        course=course,
        profile=report.profile is not None and report.profile.iterations > 0,
        body=_body(report, earlier),
        several=[],
    )


def pages(reports: Reports, parts: Sequence[Part]) -> str:
    """The same for several targets: a list of them, and below it all that is told of each."""
    several = [
        {
            "at": f"t{part.number}-",
            "name": part.name,
            "heading": heading(reports, part.number, part.name),
            "tone": _tone(part.report),
            "badge": outcome(part.report),
            "summary": summary(part.report),
            "body": _body(part.report, part.options.earlier, f"t{part.number}-"),
        }
        for part in parts
    ]
    tones = [_tone(part.report) for part in parts] + ["unjudged"] * bool(reports.not_checked)
    return _page(
        title=plural(reports.total, "target"),
        tool=parts[0].report.tool,
        tone=next(tone for tone in ("error", "unjudged", "warning", "info", "good") if tone in tones),
        closing=closing(reports),
        several=several,
    )


def _page(**told: Any) -> str:
    style = Markup(_asset("uplot/uPlot.min.css") + _asset("report.css"))
    scripts = [Markup(_asset(name)) for name in ("uplot/uPlot.iife.min.js", "axis.js", "report.js")]
    template = _environment().get_template("report.html")
    text: str = template.render(style=style, scripts=scripts, policy=_policy(style, scripts), icons=_ICONS, **told)
    return text


def _body(report: Report, earlier: Earlier | None, at: str = "") -> Markup:
    """All that is told of one report; `at` begins its ids, so that several stand on one page."""
    template = _environment().get_template("one.html")
    return Markup(
        template.render(
            at=at,
            report=report,
            course=report.course,
            networks=_networks(report.course),
            rules=_rules(),
            tone=_tone(report),
            icons=_ICONS,
            summary=summary(report),
            command=remarks.command(report),
            facts=[*machine(report), *seen(report)],
            tiles=_tiles(report),
            index=_index(report.findings),
            findings=[_finding(finding, report) for finding in report.findings],
            earlier=(earlier.name, summary(earlier.report)) if earlier else None,
            became=list(became(report, earlier.report)) if earlier else [],
            remarks=[
                *outcome_of_changes(report),
                *(row for row in remarks.remarks(report) if row[0] not in _ELSEWHERE),
            ],
            later=came_to_light(report),
            width=WIDTH,
            height=HEIGHT,
            coverage=list(_coverage(report)),
            unreached=_unreached(report.run),
            skipped=_skipped(report),
            plots=_plots(report.course, earlier),
            by_line=_by_line(report.findings),
            profile=_profile(report.profile),
            data=_data(report, earlier),
        )
    )


def prose(text: str) -> Markup:
    """Text in which what stands between backticks is code."""
    parts = printable(text, unicode=True).split("`")
    if len(parts) % 2 == 0:
        return escape("`".join(parts))
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if position % 2 else escape(part) for position, part in enumerate(parts)
    )


def number(value: Measured | None) -> str:
    """ "0.0123", "1.2e-05", "nan"; a dash for what was not measured."""
    if value is None:
        return "–"
    return value if isinstance(value, str) else f"{value:.3g}"


# ------------------------------------------------------------------------------------------------------------- content


def _tone(report: Report) -> str:
    if report.findings:
        return report.findings[0].severity
    return "good" if report.verdict == "passed" else "unjudged"


def _finding(finding: ReportedFinding, report: Report) -> dict[str, Any]:
    """What is told of a finding beside its own fields."""
    made = frames(marks(finding), report.target.cwd)
    return {
        "about": finding,
        "frames": [(where(frame.anchor), code_lines(frame), unplaced(frame)) for frame in made],
        "evidence": [measured(name, value) for name, value in finding.evidence.items()],
        "subject": remarks.subject_of(finding),
        "doubts": list(remarks.doubts(finding, report.run)),
        "change": change_of(finding, report),
    }


def _index(findings: Sequence[ReportedFinding]) -> list[tuple[ReportedFinding, str, str]]:
    """A line for each of so many findings that they are not seen at one glance: its place, and what it says first."""
    if len(findings) <= _FEW:
        return []
    return [
        (finding, line_of(finding.location) if finding.location else "", first_line(finding.message))
        for finding in findings
    ]


def _tiles(report: Report) -> list[tuple[str, str, str]]:
    """What to see at one glance: a label, a value, and a word beside it."""
    found = [("findings", str(len(report.findings)), _counts(report))]
    if report.run.steps:
        full = report.run.steps_in_full
        found.append(("steps", f"{report.run.steps:,}", f"{full:,} in full" if full < report.run.steps else ""))
    losses = [each for each in report.course.series if each.quantity == "loss"]
    if losses:
        first, last = losses[0].values[0], losses[0].values[-1]
        found.append(("loss", f"{number(first)} → {number(last)}", _called(losses[0]) if len(losses) > 1 else ""))
    roots = [row for row in report.course.modules if row.depth == 0]
    if roots:
        count = sum(sum(row.parameters.values()) for row in roots)
        found.append(("parameters", _short(sum(row.values for row in roots)), f"in {plural(count, 'tensor')}"))
    return found


def _counts(report: Report) -> str:
    counts = report.statistics.by_severity
    return ", ".join(
        plural(count, name) if name != "info" else f"{count} info" for name, count in counts.items() if count
    )


def _short(count: float) -> str:
    for unit in ("", "k", "M", "G"):
        if count < 1000 or unit == "G":
            break
        count /= 1000
    return f"{count:,.0f}" if not unit else f"{count:.3g} {unit}"


def _remarks(report: Report) -> Iterator[tuple[str, str]]:
    """What came of changes, and what is said of the run that no section of its own tells."""
    yield from outcome_of_changes(report)
    yield from (row for row in remarks.remarks(report) if row[0] not in _ELSEWHERE)


def _coverage(report: Report) -> Iterator[tuple[bool, str]]:
    """What the run exercised and what it did not."""
    run = report.run
    if run.seen_whole:
        yield True, "the whole program"
    elif run.stopped_by in ("steps", "time"):
        yield False, f"not the whole program: {stopped(report)}"
    yield from ((True, phase) for phase in run.phases_seen)
    yield from ((False, f"no {phase} was seen") for phase in run.phases_not_seen)


def _unreached(run: Run) -> tuple[str, list[tuple[str, str, str]], int] | None:
    """Backwards that never ran: what is said of all, line, function and source of each, and how many more there are."""
    if not run.not_reached:
        return None
    shown = run.not_reached[:_MOST_UNREACHED]
    rows = [(line_of(place), place.function, first_line(place.snippet)) for place in shown]
    return remarks.unreached(run), rows, len(run.not_reached) - len(shown)


def _skipped(report: Report) -> dict[str, list[str]]:
    reasons: dict[str, list[str]] = {}
    for code, reason in report.checks.skipped.items():
        reasons.setdefault(reason, []).append(code)
    return reasons


def _plots(course: Course, earlier: Earlier | None) -> list[dict[str, str]]:
    """Each quantity that was measured, with a sentence for those who do not see the plot."""
    found = []
    for quantity, title in _QUANTITIES.items():
        told = [(_called(each), each) for each in course.series if each.quantity == quantity]
        before = earlier.report.course.series if earlier else []
        told += [(f"before: {_called(each)}", each) for each in before if each.quantity == quantity]
        if told:
            said = "; ".join(_said(name, quantity, each.steps, each.values) for name, each in told)
            found.append({"quantity": quantity, "title": title, "said": f"{title} over steps. {said}"})
    return found


def _called(series: Series) -> str:
    """ "loss (train.py:14)"."""
    return f"{series.name} ({series.place})" if series.place else series.name


def _said(name: str, quantity: str, steps: Sequence[int], values: Sequence[Measured]) -> str:
    def value(at: Measured) -> str:
        return in_bytes(at) if quantity == "memory" and not isinstance(at, str) else number(at)

    finite = [at for at in values if not isinstance(at, str)]
    lowest = f", lowest {value(min(finite))}, highest {value(max(finite))}" if finite else ""
    return f"{name}: {value(values[0])} in step {steps[0]}, {value(values[-1])} in step {steps[-1]}{lowest}"


def _networks(course: Course) -> list[str]:
    """Those that have a colour of their own on the page, in the order of the model; none where there is but one."""
    found = dict.fromkeys([*(row.network for row in course.flow.rows), *(each.network for each in course.series)])
    named = [network for network in found if network]
    return named[:_COLOURED] if len(named) > 1 else []


def _profile(profile: Profile | None) -> tuple[str, list[Table]] | None:
    """How long an iteration takes, and the tables."""
    return (pace(profile), list(tables(profile))) if profile is not None and profile.iterations else None


def _by_line(findings: Sequence[ReportedFinding]) -> dict[str, list[tuple[int, ReportedFinding]]]:
    """The findings of each line, with their numbers on the page."""
    found: dict[str, list[tuple[int, ReportedFinding]]] = {}
    for position, finding in enumerate(findings, start=1):
        if finding.location is not None:
            found.setdefault(line_of(finding.location), []).append((position, finding))
    return found


# ------------------------------------------------------------------------------------------------------------ plumbing


def _data(report: Report, earlier: Earlier | None) -> Markup:
    """What the script draws, as JSON in which nothing can end the element that it stands in."""
    findings = [
        {"code": each.code, "name": each.name, "severity": each.severity, "step": each.step_first}
        for each in report.findings
    ]
    drawn = {
        "course": msgspec.to_builtins(report.course),
        "networks": _networks(report.course),
        "findings": findings,
        "earlier": msgspec.to_builtins(earlier.report.course.series) if earlier else [],
    }
    text = json.dumps(drawn, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def _policy(style: str, scripts: Sequence[str]) -> str:
    """Nothing but the styles and scripts of this page, told by their hashes, and no address at all."""
    run = " ".join(map(_hash, scripts))
    return (
        f"default-src 'none'; style-src {_hash(style)}; script-src {run}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def _asset(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8")


@cache
def _rules() -> dict[str, Rule]:
    return {rule.code: rule for rule in all_rules()}


def _shown(value: object) -> object:
    """Whatever is put into the page: nothing in it can hide, turn the direction of writing, or fail to be written."""
    return printable(value, unicode=True) if type(value) is str else value


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(_ASSETS),
        autoescape=True,
        finalize=_shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"prose": prose, "number": number, "short": _short, "plural": plural}
    return made
