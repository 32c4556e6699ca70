"""One line per finding, `path:line:col: CODE message [severity]`, for editors and matchers, then the summary."""

from __future__ import annotations

import re

from autograd_doctor.renderers import Options
from autograd_doctor.renderers.printable import one_line, printable
from autograd_doctor.renderers.spots import spot
from autograd_doctor.renderers.wording import SUMMARY, summary
from autograd_doctor.report import Report, ReportedFinding

NAME = "concise"
SIGN = re.compile(rf"note: assumed |[^\n]*: [A-Z]+\d+ [^\n]*\[(error|warning|info)\]\n|({SUMMARY})")


def render(report: Report, options: Options) -> str:
    """Lines are never wrapped, so that they stay clickable."""
    said = [f"note: assumed {'; '.join(report.assumed.said)}"] if report.assumed else []
    said += [*(_line(report, finding) for finding in report.findings), summary(report)]
    return "".join(printable(one_line(line), unicode=options.unicode) + "\n" for line in said)


def _line(report: Report, finding: ReportedFinding) -> str:
    said = one_line(finding.message or finding.title)
    return f"{spot(report, finding)}: {finding.code} {said} [{finding.severity}]"
