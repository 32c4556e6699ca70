"""The shortest text that is complete, for the context of a language model: the same for the same findings.

Nothing is drawn or wrapped, and no time is told. Each finding has its place, what was seen and measured, the change to
make, and the command that verifies it.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence

from msgspec import UNSET

from autograd_doctor.findings import Fix
from autograd_doctor.renderers import Options, Part
from autograd_doctor.renderers.changes import called, described, diff_lines, later, others, outcome, verdict
from autograd_doctor.renderers.one_finding import where
from autograd_doctor.renderers.printable import one_line, printable
from autograd_doctor.renderers.remarks import doubts, remarks, subject_of
from autograd_doctor.renderers.wording import heading, measured, stopped
from autograd_doctor.report import Report, ReportedFinding
from autograd_doctor.reports import Reports, closing
from autograd_doctor.wording import plural

NAME = "agent"
_BEGINS = r"autograd_doctor verdict: [\w-]+, exit code \d+\n"
SIGN = re.compile(rf"(target \d+ of \d+: [^\n]*\n)?{_BEGINS}")


def render(report: Report, options: Options) -> str:
    """A line for each fact; a finding begins at the margin, what belongs to it is indented."""
    return _text(_lines(report))


def compose(reports: Reports, parts: Sequence[Part], options: Options) -> str:
    """Each report below a heading, and a line that counts them."""
    said = [
        _text([one_line(heading(reports, part.number, part.name))]) + render(part.report, part.options)
        for part in parts
    ]
    return "".join(said) + _text([one_line(closing(reports))])


def _text(lines: Sequence[str] | Iterator[str]) -> str:
    return "".join(f"{printable(line, unicode=True)}\n" for line in lines)


def _lines(report: Report) -> Iterator[str]:
    yield f"autograd_doctor verdict: {report.verdict}, exit code {report.exit_code}"
    if report.verdict not in ("passed", "faults"):
        yield f"why: {one_line(report.exit_reason)}"
    yield f"seen: {plural(report.run.steps, 'step')} of training; {'; '.join([*_phases(report), stopped(report)])}"
    if report.assumed:
        yield f"assumed: {one_line('; '.join(report.assumed.said))}"
    if not report.findings:
        yield f"findings: none, of {plural(len(report.checks.ran), 'check')} that looked"
    for finding in report.findings:
        yield from _finding(finding, report)
    for each in later(report):
        yield f"came to light: {one_line(called(each))}"
        yield from _tried(each.fix)
    yield from (f"{label}: {one_line(said)}" for label, said in (*outcome(report), *remarks(report)))


def _phases(report: Report) -> list[str]:
    return [", ".join(report.run.phases_seen)] if report.run.phases_seen else []


def _finding(finding: ReportedFinding, report: Report) -> Iterator[str]:
    at = f" at {where(finding.location)}" if finding.location else ""
    yield f"{finding.severity} {finding.code} {finding.name}{at} (confidence {finding.confidence})"
    yield f"  what: {one_line(finding.title)}"
    yield f"  cause: {one_line(finding.message)}"
    if subject := subject_of(finding):
        yield f"  subject: {one_line(subject)}"
    for each in finding.related:
        yield f"  see: {where(each.location)}: {one_line(each.message)}"
    if finding.evidence:
        pairs = (measured(name, value) for name, value in finding.evidence.items())
        yield f"  measured: {'; '.join(f'{one_line(name)} {one_line(value)}' for name, value in pairs)}"
    yield from (f"  {label}: {one_line(said)}" for label, said in doubts(finding, report.run) if label != "confidence")
    if finding.help:
        yield f"  change: {one_line(finding.help)}"
    yield from _patch(finding, report)
    if command := _verifies(finding, report):
        yield f"  verify: {one_line(command)}"


def _patch(finding: ReportedFinding, report: Report) -> Iterator[str]:
    if finding.fix is not None:
        yield from _tried(finding.fix)
    yield from (f"  {label}: {one_line(said)}" for label, said in others(finding, report))


def _tried(fix: Fix) -> Iterator[str]:
    label, why = verdict(fix)
    yield f"  patch: {one_line(described(fix))}"
    yield from (f"    {line}" for line in diff_lines(fix))
    if label:
        yield f"  {label}: {one_line(why)}"


def _verifies(finding: ReportedFinding, report: Report) -> str:
    """The command that looks for this fault alone; empty where there is none, as for a block that watched itself."""
    target = report.target
    if target.block is not UNSET or target.function is not UNSET:
        return ""
    module = ["-m"] if target.module is not UNSET else []
    return shlex.join(["doctor", "check", "--select", finding.code, *module, *target.argv])
