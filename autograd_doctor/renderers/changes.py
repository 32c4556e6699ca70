"""What is said of changes: of one, whether it is proven; of all that were tried, what is left with those that are."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.findings import Fix
from autograd_doctor.renderers.wording import listed
from autograd_doctor.report import Fixing, Report, ReportedFinding, Tried
from autograd_doctor.wording import plural


def verdict(fix: Fix) -> tuple[str, str]:
    """ "proven" or "not proven", and why; empty where it was not tried."""
    if fix.proof is None:
        return "", ""
    return ("proven" if fix.proof.proven else "not proven"), "; ".join(fix.proof.said)


def diff_lines(fix: Fix) -> list[str]:
    """The lines of the diff, without their ends, of whatever kind."""
    return [line.rstrip("\r") for line in fix.diff.split("\n")[:-1]]


def described(fix: Fix) -> str:
    """The change in words, and where it is as yet a proposal, who would try it."""
    return fix.description if fix.proof is not None else f"{fix.description} (not tried; `doctor fix` would)"


NONE_MADE = "none could be made from what was seen; see the help"
"""Said where changes were asked for, and there is none for a finding."""


def others(finding: ReportedFinding, report: Report) -> Iterator[tuple[str, str]]:
    """Further changes that were tried for a finding, and why they are not proven."""
    tried = report.fixing.tried if report.fixing else []
    for each in tried:
        if each.fingerprint == finding.fingerprint and each.fix != finding.fix:
            label, why = verdict(each.fix)
            yield "also tried", f"{each.fix.description}: {label}: {why}"


def later(report: Report) -> list[Tried]:
    """The changes for what showed only in the program with the changes before."""
    return [each for each in report.fixing.tried if each.later] if report.fixing is not None else []


def called(each: Tried) -> str:
    """What came to light: "AD207 unregistered-module: a module is kept … (train.py:10)"."""
    place = f" ({each.place})" if each.place else ""
    return f"{each.code} {each.name}: {each.title}{place}"


def outcome(report: Report) -> Iterator[tuple[str, str]]:
    """What came of all changes together."""
    fixing = report.fixing
    if fixing is None or not report.findings:
        return
    yield "changes", f"{_counted(fixing)}{_where(fixing)}"
    if fixing.cut_off:
        yield "changes", "not all were tried: time ran out (`--max-seconds`)"
    if fixing.left:
        yield "left", listed(fixing.left, 8)
    elif fixing.proven:
        yield "left", f"nothing: with {'it' if len(fixing.proven) == 1 else 'them'}, a check finds nothing wrong"


def _counted(fixing: Fixing) -> str:
    if not fixing.tried:
        return "none that could be made from what was seen"
    return f"{plural(len(fixing.tried), 'change')} tried, {len(fixing.proven)} proven"


def _where(fixing: Fixing) -> str:
    if fixing.written:
        return f", written to {listed(fixing.written, 4)}"
    return "; nothing was written: `doctor fix --apply` writes what is proven" if fixing.proven else ""
