"""The reports on several targets as one document: which were judged, which were not, and what comes of all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct

from autograd_doctor.findings import SEVERITIES, ExitCode
from autograd_doctor.report import CHECKSUM, Report, ReportError, Verdict, checksum, from_json, to_json
from autograd_doctor.wording import plural

REPORTS_VERSION = 1
KEY = "reports"
"""The field by which this document is told from a report."""

_WORST = (
    ExitCode.INTERRUPTED,
    ExitCode.USAGE,
    ExitCode.PROGRAM_FAILED,
    ExitCode.FINDINGS,
    ExitCode.NOT_JUDGED,
    ExitCode.OK,
)


ReportsVerdict = Verdict | Literal["mistake"]


class Named(Struct, frozen=True):
    """A target by its name in the settings, and the report on it."""

    name: str
    report: Report


class Reports(Struct, frozen=True, kw_only=True):
    """What came of several targets. `verdict` is the worst; `mistake`, where one was not checked because of a mistake.

    `not_checked`: the targets of which there is no report, because of a mistake or because the check was interrupted.
    """

    schema_version: int = REPORTS_VERSION
    verdict: ReportsVerdict
    reports: list[Named]
    not_checked: list[str] = []

    def exit_code(self, exit_zero: bool = False) -> ExitCode:
        """The worst of all; `exit_zero` lets findings pass, and nothing else."""
        codes = [each.report.exit_code for each in self.reports]
        if exit_zero:
            codes = [ExitCode.OK if code == ExitCode.FINDINGS else code for code in codes]
        if self.verdict == "interrupted":
            return ExitCode.INTERRUPTED
        return _worst([*codes, *([ExitCode.USAGE] if self.not_checked else [])])

    @property
    def total(self) -> int:
        """How many targets there were to check."""
        return len(self.reports) + len(self.not_checked)


def _worst(codes: Sequence[int]) -> ExitCode:
    """The exit code of a whole of which these are the parts' own."""
    return next((code for code in _WORST if code in codes), ExitCode.OK)


def together(reports: Sequence[Named], not_checked: Sequence[str] = (), *, interrupted: bool = False) -> Reports:
    """The document for these targets."""
    code = _worst([*(each.report.exit_code for each in reports), *([ExitCode.USAGE] if not_checked else [])])
    of_code = [each.report.verdict for each in reports if each.report.exit_code == code]
    verdict: ReportsVerdict = "interrupted" if interrupted else of_code[0] if of_code else "mistake"
    return Reports(verdict=verdict, reports=list(reports), not_checked=list(not_checked))


def closing(reports: Reports) -> str:
    """ "3 targets: 2 healthy, 1 with 2 errors"."""
    parts: dict[str, int] = {}
    for named in reports.reports:
        said = outcome(named.report)
        parts[said] = parts.get(said, 0) + 1
    told = [f"{count} {said}" for said, count in parts.items()]
    told += [f"{len(reports.not_checked)} not checked ({', '.join(reports.not_checked)})"] * bool(reports.not_checked)
    return f"{plural(reports.total, 'target')}: {', '.join(told)}"


def outcome(report: Report) -> str:
    """ "healthy", "with 2 errors", "not judged"."""
    counts = report.statistics.by_severity
    found = [plural(n, each) if each != "info" else f"{n} info" for each in SEVERITIES if (n := counts.get(each))]
    if report.verdict not in ("passed", "faults"):
        return " with ".join([report.verdict.replace("-", " "), *([", ".join(found)] if found else [])])
    if found:
        return f"with {' and '.join(found)}"
    return "healthy" if report.verdict == "passed" else f"failed: {report.exit_reason}"


# ----------------------------------------------------------------------------------------------------- kept as JSON


class _Kept(Struct, frozen=True):
    name: str
    report: msgspec.Raw


class _KeptReports(Struct, frozen=True):
    schema_version: int
    verdict: ReportsVerdict
    reports: list[_Kept]
    checksum: str
    not_checked: list[str] = []


def reports_to_json(reports: Reports) -> bytes:
    """The document as JSON: each report as it would be by itself, with its own checksum, and one of the whole."""
    everything: dict[str, Any] = msgspec.to_builtins(reports)
    everything[KEY] = [{"name": each.name, "report": msgspec.Raw(to_json(each.report))} for each in reports.reports]
    everything[CHECKSUM] = checksum(msgspec.json.encode(everything))
    last = everything.pop(KEY)
    head = msgspec.json.format(msgspec.json.encode(everything), indent=2).removesuffix(b"\n}")
    body = b",\n".join(
        b'{"name": %s, "report": %s}' % (msgspec.json.encode(each["name"]), bytes(each["report"])) for each in last
    )
    return b'%s,\n  "%s": [\n%s\n  ]\n}' % (head, KEY.encode(), body)


def is_reports(data: bytes) -> bool:
    """Whether JSON holds reports on several targets rather than one report."""
    try:
        held = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return isinstance(held, dict) and KEY in held


def reports_from_json(data: bytes) -> Reports:
    """The document that `reports_to_json` wrote. Raises `ReportError`, also if it is not as it was written."""
    try:
        kept = msgspec.json.decode(data, type=_KeptReports)
    except msgspec.ValidationError as error:
        raise ReportError(f"not a saved report: {error}") from None
    if kept.schema_version != REPORTS_VERSION:
        version = f"{kept.schema_version}, but this version of the doctor reads {REPORTS_VERSION}"
        raise ReportError(f"reports on several targets of version {version}")
    reports = [Named(each.name, from_json(bytes(each.report))) for each in kept.reports]
    if kept.checksum != checksum(data):
        raise ReportError("changed after it was written: its `checksum` does not match its content")
    return Reports(verdict=kept.verdict, reports=reports, not_checked=kept.not_checked)
