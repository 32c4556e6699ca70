"""One report of what several ranks were found to have, each judged by itself."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from autograd_doctor.findings import SEVERITIES, ExitCode
from autograd_doctor.report import Report, Statistics

_WORSE = (ExitCode.OK, ExitCode.NOT_JUDGED, ExitCode.PROGRAM_FAILED, ExitCode.FINDINGS, ExitCode.USAGE)
"""Which exit code counts where ranks differ: a fault that was found is more than a rank of which nothing is known."""


def together(first: Report, others: Iterable[tuple[int, Report | None]]) -> Report:
    """The report of rank 0 with what others have found besides; None stands for a rank that gave no report."""
    report = first
    for rank, other in others:
        report = _silent(report, rank) if other is None else _joined(report, rank, other)
    return report


def _joined(report: Report, rank: int, other: Report) -> Report:
    known = {finding.fingerprint for finding in report.findings}
    alone = f"rank {rank} has it, and rank 0 has not"
    added = [
        msgspec.structs.replace(finding, notes=[*finding.notes, alone])
        for finding in other.findings
        if finding.fingerprint not in known
    ]
    findings = sorted([*report.findings, *added], key=lambda finding: SEVERITIES.index(finding.severity))
    report = msgspec.structs.replace(report, findings=findings, statistics=Statistics.of(findings))
    if not _is_worse(other.exit_code, report.exit_code):
        return report
    reason = f"rank {rank}: {other.exit_reason}"
    return msgspec.structs.replace(
        report, verdict=other.verdict, exit_code=other.exit_code, exit_reason=reason, advice=other.advice
    )


def _silent(report: Report, rank: int) -> Report:
    said = f"rank {rank} gave no report"
    report = msgspec.structs.replace(report, notes=[*report.notes, said])
    if not _is_worse(ExitCode.NOT_JUDGED, report.exit_code):
        return report
    return msgspec.structs.replace(report, verdict="not-judged", exit_code=int(ExitCode.NOT_JUDGED), exit_reason=said)


def _is_worse(code: int, than: int) -> bool:
    return code in _WORSE and than in _WORSE and _WORSE.index(ExitCode(code)) > _WORSE.index(ExitCode(than))
