"""Markdown for the summary of a CI job, or a comment on a pull request: the verdict, a table, then each finding."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from math import inf
from typing import NamedTuple

from autograd_doctor.findings import Fix
from autograd_doctor.profiling import Profile
from autograd_doctor.renderers import Earlier, Options, Part
from autograd_doctor.renderers.canvas import Canvas
from autograd_doctor.renderers.changes import NONE_MADE, called, described, diff_lines, later, others, outcome, verdict
from autograd_doctor.renderers.markdown_text import code, fenced, prose
from autograd_doctor.renderers.one_finding import places_of
from autograd_doctor.renderers.printable import one_line
from autograd_doctor.renderers.profile_tables import Table, pace, tables
from autograd_doctor.renderers.remarks import command, doubts, remarks, subject_of
from autograd_doctor.renderers.since import since
from autograd_doctor.renderers.spots import spot
from autograd_doctor.renderers.wording import heading, machine, measured, summary, was_judged
from autograd_doctor.report import Assumed, Report, ReportedFinding, Run, Tried
from autograd_doctor.reports import Reports, closing
from autograd_doctor.wording import plural

NAME = "markdown"
SIGN = re.compile(r"##? autograd_doctor: ")

_WIDTH = 100
_ROWS = 100


class Markdown(NamedTuple):
    """A text, and how many findings it has no details of."""

    text: str
    left_out: int


def render(report: Report, options: Options) -> str:
    """The whole report; the width of frames does not depend on the terminal."""
    return within(report, None, options.earlier).text


def within(report: Report, limit: int | None, earlier: Earlier | None = None) -> Markdown:
    """As much of the report as fits into so many bytes of UTF-8: details of the last findings are left out first."""
    head, foot = _head(report) + (_since(report, earlier) if earlier else ""), _foot(report)
    details = [_details(report, finding) for finding in report.findings] + [*map(_later, later(report))]
    room = inf if limit is None else limit - _size(head + _cut(len(details)) + foot)
    kept = sum(size <= room for size in accumulate(map(_size, details)))
    left_out = len(details) - kept
    return Markdown("".join([head, *details[:kept], _cut(left_out), foot]), left_out)


def compose(reports: Reports, parts: Sequence[Part], options: Options) -> str:
    """All reports whole, below a line that counts them."""
    return several_within(reports, None, {part.name: part.options.earlier for part in parts}).text


def several_within(
    reports: Reports, limit: int | None, earlier: Mapping[str, Earlier | None] | None = None
) -> Markdown:
    """As much of several reports as fits into so many bytes: details of the last targets are left out first."""
    title = f"# autograd_doctor: {plural(reports.total, 'target')}\n\n**{prose(closing(reports))}**\n\n"
    heads = [
        f"**{prose(heading(reports, number, each.name))}**\n\n" for number, each in enumerate(reports.reports, start=1)
    ]
    bare = [within(each.report, 0) for each in reports.reports]
    room = inf if limit is None else limit - sum(map(_size, [title, *heads, *(each.text for each in bare)]))
    told, left_out = [title], 0
    for head, named, least in zip(heads, reports.reports, bare, strict=True):
        before = (earlier or {}).get(named.name)
        part = within(named.report, None if limit is None else int(max(room, 0)) + _size(least.text), before)
        room -= _size(part.text) - _size(least.text)
        told += [head, part.text, "\n"]
        left_out += part.left_out
    return Markdown("".join(told), left_out)


def _size(text: str) -> int:
    return len(text.encode())


def _cut(left_out: int) -> str:
    return f"The details of {plural(left_out, 'finding')} did not fit here.\n\n" if left_out else ""


# -------------------------------------------------------------------------------------------------------------- head


def _head(report: Report) -> str:
    typed = command(report)
    parts = [
        f"## autograd_doctor: {code(report.target.name)}",
        f"{_sign(report)} **{prose(summary(report))}**",
        " · ".join([code(typed), *map(prose, machine(report))]),
    ]
    told = (*parts, *_assumed(report.assumed), *_profile(report.profile), *_table(report))
    return "".join(f"{part}\n\n" for part in told)


def _sign(report: Report) -> str:
    if not was_judged(report):
        return "⚠️"
    return "❌" if report.verdict == "faults" else "✅"


def _assumed(assumed: Assumed | None) -> Iterator[str]:
    if assumed:
        yield f"Assumed {prose('; '.join(assumed.said))}. The same as settings:"
        yield fenced(assumed.settings).rstrip()


def _profile(profile: Profile | None) -> Iterator[str]:
    if profile is not None and profile.iterations:
        yield prose(pace(profile))
        for table in tables(profile):
            yield f"**{prose(table.title)}**"
            yield "\n".join(_rows_of(table))
            yield from map(prose, table.notes)


def _rows_of(table: Table) -> Iterator[str]:
    marks = ["---", *("---:" for _ in table.head[1:-1]), "---" if table.has_words else "---:"]
    for row in (table.head, marks):
        yield f"| {' | '.join(row)} |"
    for row in table.rows:
        yield f"| {' | '.join(prose(cell, in_table=True) for cell in row)} |"


def _table(report: Report) -> Iterator[str]:
    if report.findings:
        rows = [_row(report, finding) for finding in report.findings[:_ROWS]]
        yield "\n".join(["| severity | rule | where | what |", "|---|---|---|---|", *rows])
    if len(report.findings) > _ROWS:
        yield f"and {plural(len(report.findings) - _ROWS, 'more finding')}"


def _row(report: Report, finding: ReportedFinding) -> str:
    where = code(spot(report, finding), in_table=True)
    what = prose(finding.message or finding.title, in_table=True)
    name = prose(finding.name, in_table=True)
    return f"| {finding.severity} | {code(finding.code, in_table=True)} {name} | {where} | {what} |"


def _since(report: Report, earlier: Earlier) -> str:
    rows = "".join(f"- **{label}** {prose(said)}\n" for label, said in list(since(report, earlier))[:_ROWS])
    return f"{rows}\n"


# ------------------------------------------------------------------------------------------------------------ details


def _details(report: Report, finding: ReportedFinding) -> str:
    title = f"### {finding.severity} {code(finding.code)} {prose(finding.name)}: {prose(finding.title)}"
    canvas = Canvas(Options(width=_WIDTH))
    frames = canvas.text(places_of(canvas, finding, report.target.cwd))
    shown = fenced(frames) if frames.strip() else f"{prose(finding.message)}\n"
    rows = "".join(f"- **{label}:** {text}\n" for label, text in _rows(finding, report.run))
    return f"{title}\n\n{shown}\n{rows}{_change(report, finding)}\n"


def _later(each: Tried) -> str:
    return f"### came to light: {prose(one_line(called(each)))}\n\n{_tried(each.fix)}\n"


def _change(report: Report, finding: ReportedFinding) -> str:
    """The change as a diff, what a run with it showed, and what else was tried."""
    told = [*others(finding, report)]
    if finding.fix is None and report.fixing is not None:
        told.append(("fix", NONE_MADE))
    shown = _tried(finding.fix) if finding.fix is not None else ""
    return shown + "".join(f"- **{label}:** {prose(said)}\n" for label, said in told)


def _tried(fix: Fix) -> str:
    label, why = verdict(fix)
    diff = fenced("\n".join(diff_lines(fix)), "diff")
    proof = f"- **{label}:** {prose(why)}\n" if label else ""
    return f"- **fix:** {prose(described(fix))}\n\n{diff}\n{proof}"


def _rows(finding: ReportedFinding, run: Run) -> Iterator[tuple[str, str]]:
    if subject := subject_of(finding):
        yield "subject", prose(subject)
    if finding.evidence:
        pairs = [measured(name, value) for name, value in finding.evidence.items()]
        yield "measured", prose(", ".join(f"{name} {value}" for name, value in pairs))
    yield from ((label, prose(said)) for label, said in doubts(finding, run))
    if finding.help:
        yield "help", prose(finding.help)


def _foot(report: Report) -> str:
    said = "".join(f"- *{label}:* {prose(text)}\n" for label, text in [*outcome(report), *remarks(report)][:_ROWS])
    return f"---\n\n{said}" if said else ""
