"""The Code Quality report that GitLab shows in merge requests: a list of issues, each with a fingerprint of its own."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from autograd_doctor.findings import Severity
from autograd_doctor.renderers import Options, Part
from autograd_doctor.renderers.printable import one_line
from autograd_doctor.renderers.spots import file_of, is_line_of_file, spot
from autograd_doctor.report import Report, ReportedFinding
from autograd_doctor.reports import Reports

NAME = "gitlab"
SIGN = re.compile(r'\[\s*(\]\s*\Z|\{\s*"description": "(\w+): (?:[^"\\]|\\.)*",\s*"check_name": "\2",)')

_SEVERITIES: dict[Severity, str] = {"error": "major", "warning": "minor", "info": "info"}


def render(report: Report, options: Options) -> str:
    """Indented JSON. GitLab compares fingerprints with those of the target branch, and shows equal ones once."""
    return _text(_issues(report))


def compose(reports: Reports, parts: Sequence[Part], options: Options) -> str:
    """The issues of all. One of source that several targets run has the same fingerprint in each, and is shown once."""
    return _text([issue for part in parts for issue in _issues(part.report)])


def _issues(report: Report) -> list[dict[str, Any]]:
    return [
        _issue(report, finding, fingerprint)
        for finding, fingerprint in zip(report.findings, _fingerprints(report), strict=True)
    ]


def _text(issues: list[dict[str, Any]]) -> str:
    return msgspec.json.format(msgspec.json.encode(issues), indent=2).decode() + "\n"


def _issue(report: Report, finding: ReportedFinding, fingerprint: str) -> dict[str, Any]:
    place = finding.location
    here = is_line_of_file(place)
    # GitLab must be given a line. Where it is none of the file, the description says which it is.
    where = "" if here else f" ({spot(report, finding)})"
    return {
        "description": f"{finding.code}: {one_line(finding.message or finding.title)}{where}",
        "check_name": finding.code,
        "fingerprint": fingerprint,
        "severity": _SEVERITIES[finding.severity],
        "location": {
            "path": file_of(report, place),
            "lines": {"begin": place.line if place and here else 1},
        },
    }


def _fingerprints(report: Report) -> Iterator[str]:
    """Those of the findings; one that was there already is salted until it is new."""
    seen: set[str] = set()
    for finding in report.findings:
        fingerprint = finding.fingerprint
        while fingerprint in seen:
            fingerprint = hashlib.sha256(fingerprint.encode()).hexdigest()[:16]
        seen.add(fingerprint)
        yield fingerprint
