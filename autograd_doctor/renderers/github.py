"""Workflow commands that GitHub Actions shows as annotations of a pull request's lines.

GitHub takes ten annotations of a kind from a step and drops the others, so those that are left are plain lines of the
log. No line of that kind can begin a command.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from autograd_doctor.findings import SEVERITIES, Severity
from autograd_doctor.renderers import Options, Part
from autograd_doctor.renderers.changes import described, verdict
from autograd_doctor.renderers.printable import one_line, printable
from autograd_doctor.renderers.spots import file_of, is_line_of_file, spot
from autograd_doctor.renderers.wording import failed_by_itself, summary
from autograd_doctor.report import Report, ReportedFinding
from autograd_doctor.reports import Reports, closing

NAME = "github"
SIGN = re.compile(r"::(error|warning|notice) title=autograd_doctor \(|autograd_doctor: ")

_KINDS: dict[Severity, str] = {"error": "error", "warning": "warning", "info": "notice"}
_TAKEN = 10


def render(report: Report, options: Options) -> str:
    """The most severe findings first; a check that judged nothing is an annotation too."""
    return "".join(f"{line}\n" for line in _lines(report, Counter()))


def compose(reports: Reports, parts: Sequence[Part], options: Options) -> str:
    """As by themselves, but that GitHub takes no more from a step because there are several targets."""
    taken = Counter[str]()
    lines = [_command("error", {"title": "autograd_doctor (mistake)"}, closing(reports))] * bool(reports.not_checked)
    taken["error"] += len(lines)
    for part in parts:
        lines += _lines(part.report, taken)
    return "".join(f"{line}\n" for line in [*lines, _plain(closing(reports))])


def _lines(report: Report, taken: Counter[str]) -> Iterator[str]:
    if failed_by_itself(report):
        taken["error"] += 1
        yield _command("error", {"title": f"autograd_doctor ({report.verdict})"}, summary(report))
    for finding in sorted(report.findings, key=lambda finding: SEVERITIES.index(finding.severity)):
        kind = _KINDS[finding.severity]
        taken[kind] += 1
        yield _annotation(report, finding, kind) if taken[kind] <= _TAKEN else _plain(_said(report, finding))
    yield _plain(summary(report))


def _annotation(report: Report, finding: ReportedFinding, kind: str) -> str:
    said = [_said(report, finding), *([finding.help] if finding.help else []), *_change(finding)]
    return _command(kind, _properties(report, finding), *said)


def _change(finding: ReportedFinding) -> Iterator[str]:
    """The change and whether it is proven; the summary of the job shows it as a diff."""
    if finding.fix is not None:
        yield ": ".join(filter(None, (described(finding.fix), *verdict(finding.fix))))


def _said(report: Report, finding: ReportedFinding) -> str:
    return f"{spot(report, finding)}: {finding.code} {finding.message or finding.title}"


def _properties(report: Report, finding: ReportedFinding) -> dict[str, str]:
    """Columns only for spans of one line, as GitHub demands."""
    place = finding.location
    properties = {
        "title": f"autograd_doctor ({finding.code})",
        "file": posixpath.join(report.target.cwd, file_of(report, place)),
    }
    if place is None or not is_line_of_file(place):
        return properties
    properties |= {"line": str(place.line), "endLine": str(max(place.line, place.end_line))}
    if place.column and place.end_line <= place.line:
        properties["col"] = str(place.column)
        if place.end_column > place.column:
            properties["endColumn"] = str(place.end_column)
    return properties


def _command(kind: str, properties: Mapping[str, str], *lines: str) -> str:
    written = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{kind} {written}::{'%0A'.join(map(_data, lines))}"


def _data(text: str) -> str:
    shown = printable(text, unicode=True)
    return shown.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _plain(text: str) -> str:
    """A line of the log, which is no command, neither in the present form nor in the old one."""
    return f"autograd_doctor: {one_line(text)}".replace("##[", "## [")
