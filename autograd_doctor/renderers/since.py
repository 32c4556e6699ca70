"""What has become of the findings of an earlier report: fixed, still there, not judged again; and which are new."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from autograd_doctor.renderers import Earlier
from autograd_doctor.renderers.wording import line_of, summary
from autograd_doctor.report import Report, ReportedFinding


def since(report: Report, earlier: Earlier) -> Iterator[tuple[str, str]]:
    """A row for the earlier report as a whole, and one for each finding of either."""
    yield "since", f"{earlier.name}: {summary(earlier.report)}"
    yield from became(report, earlier.report)


def became(report: Report, earlier: Report) -> Iterator[tuple[str, str]]:
    """What has become of each finding, and what it is about."""
    before = Counter(finding.fingerprint for finding in earlier.findings)
    now = Counter(finding.fingerprint for finding in report.findings)
    judged = set(report.checks.ran)
    for finding in _beyond(earlier.findings, now):
        yield "fixed" if finding.code in judged else "not judged again", _said(finding)
    for finding in _beyond(report.findings, before):
        yield "new", _said(finding)
    for finding in report.findings:
        if before[finding.fingerprint] > 0:
            before[finding.fingerprint] -= 1
            yield "still there", _said(finding)


def _beyond(findings: list[ReportedFinding], others: Counter[str]) -> Iterator[ReportedFinding]:
    """Those of which the others have fewer that are alike."""
    left = Counter(others)
    for finding in findings:
        if left[finding.fingerprint] > 0:
            left[finding.fingerprint] -= 1
        else:
            yield finding


def _said(finding: ReportedFinding) -> str:
    place = f" at {line_of(finding.location)}" if finding.location else ""
    return f"`{finding.code}` {finding.name}{place}: {finding.title}"
