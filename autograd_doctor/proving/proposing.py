"""Changes for what was found, made and not yet tried."""

from __future__ import annotations

import traceback
from pathlib import PurePath

import msgspec

from autograd_doctor.fixers import candidates
from autograd_doctor.fixing.candidate import Candidate, Case, path_of
from autograd_doctor.fixing.changed_sources import Sources, is_editable
from autograd_doctor.fixing.diffs import fix_of
from autograd_doctor.notebook import parted
from autograd_doctor.report import Report, ReportedFinding
from autograd_doctor.trace import Trace

_LARGEST = 100_000
"""Characters of a file in which a check looks for a change: a tree of it takes a second or two."""


def with_changes(report: Report, trace: Trace) -> Report:
    """The report with the first change for each finding that has one; where a fixer fails, that is noted."""
    sources, failed = Sources(_LARGEST), list[str]()
    findings = [_with_change(Case(each, trace, sources, report.target.cwd), failed) for each in report.findings]
    return msgspec.structs.replace(report, findings=findings, notes=[*report.notes, *failed])


def untouchable(report: Report) -> list[str]:
    """What is to be said of files that findings are in, and that are not changed."""
    places = (each.location for each in report.findings if each.location is not None)
    files = {place.path: parted(path_of(place, report.target.cwd))[0] for place in places}
    return [f"{path} is not changed: it may not be written" for path, file in files.items() if not is_editable(file)]


def offered(case: Case, failed: list[str]) -> list[Candidate]:
    """The changes for a finding; none where that rests on a guess, or where the fixer fails, which is added to
    `failed`."""
    if case.finding.confidence == "low":
        return []
    try:
        return candidates(case)
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{PurePath(last.filename).name}:{last.lineno}"
        said = f"no change was made for `{case.finding.code}`: the fixer raised `{type(error).__name__}` at {where}"
        failed.append(f"{said}; report this as a bug of autograd_doctor")
        return []


def _with_change(case: Case, failed: list[str]) -> ReportedFinding:
    found = offered(case, failed)
    if not found:
        return case.finding
    return msgspec.structs.replace(case.finding, fix=fix_of(found[0], case.sources, case.cwd))
