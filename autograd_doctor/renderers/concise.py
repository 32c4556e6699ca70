"""One line per finding, `path:line:col: CODE message [severity]`, for editors and matchers, then the summary."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from autograd_doctor.renderers import Options, Part
from autograd_doctor.renderers.printable import one_line, printable
from autograd_doctor.renderers.spots import spot
from autograd_doctor.renderers.wording import HEADED, SUMMARY, heading, summary
from autograd_doctor.report import Report, ReportedFinding
from autograd_doctor.reports import Reports, closing

NAME = "concise"
SIGN = re.compile(rf"note: assumed |[^\n]*: [A-Z]+\d+ [^\n]*\[(error|warning|info)\]\n|({SUMMARY})|{HEADED}")


def render(report: Report, options: Options) -> str:
    """Lines are never wrapped, so that they stay clickable."""
    said = [f"note: assumed {'; '.join(report.assumed.said)}"] if report.assumed else []
    said += [*(_line(report, finding) for finding in report.findings), summary(report)]
    return _text(said, options)


def compose(reports: Reports, parts: Sequence[Part], options: Options) -> str:
    """Each report below a heading, and a line that counts them."""
    said = [
        text
        for part in parts
        for text in (_text([heading(reports, part.number, part.name)], options), render(part.report, part.options))
    ]
    return "".join(said) + _text([closing(reports)], options)


def _text(lines: Iterable[str], options: Options) -> str:
    return "".join(printable(one_line(line), unicode=options.unicode) + "\n" for line in lines)


def _line(report: Report, finding: ReportedFinding) -> str:
    said = one_line(finding.message or finding.title)
    return f"{spot(report, finding)}: {finding.code} {said} [{finding.severity}]"
