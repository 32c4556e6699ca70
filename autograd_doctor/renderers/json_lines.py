"""One finding a line, as in the `json` report, for programs that read a stream. Suppressed ones say so themselves."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from autograd_doctor.renderers import Options, Part
from autograd_doctor.report import Report
from autograd_doctor.reports import Reports

NAME = "json-lines"
SIGN = re.compile(r'\{"code":"\w+","name":"(?:[^"\\]|\\.)*","severity":"(error|warning|info)","confidence":"')


def render(report: Report, options: Options) -> str:
    """Compact JSON; nothing at all if nothing was found, so that only the exit code tells the verdict."""
    return b"".join(msgspec.json.encode(finding) + b"\n" for finding in (*report.findings, *report.suppressed)).decode()


def compose(reports: Reports, parts: Sequence[Part], options: Options) -> str:
    """The findings of all, each with the name of its target behind its own fields."""
    return b"".join(
        msgspec.json.encode({**msgspec.to_builtins(finding), "target": part.name}) + b"\n"
        for part in parts
        for finding in (*part.report.findings, *part.report.suppressed)
    ).decode()
