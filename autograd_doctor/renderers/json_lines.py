"""One finding a line, as in the `json` report, for programs that read a stream. Suppressed ones say so themselves."""

from __future__ import annotations

import re

import msgspec

from autograd_doctor.renderers import Options
from autograd_doctor.report import Report

NAME = "json-lines"
SIGN = re.compile(r'\{"code":"\w+","name":"(?:[^"\\]|\\.)*","severity":"(error|warning|info)","confidence":"')


def render(report: Report, options: Options) -> str:
    """Compact JSON; nothing at all if nothing was found, so that only the exit code tells the verdict."""
    return b"".join(msgspec.json.encode(finding) + b"\n" for finding in (*report.findings, *report.suppressed)).decode()
