"""SARIF 2.1.0, which GitHub code scanning and editors read.

Lines of a notebook are counted in its cells, and SARIF counts them in the file: such places name the notebook, have no
region, and say cell and line in their message.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import starmap
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

import msgspec

from autograd_doctor.findings import Confidence, Edit
from autograd_doctor.renderers import Options, Part
from autograd_doctor.renderers.changes import verdict
from autograd_doctor.renderers.printable import one_line
from autograd_doctor.renderers.sarif_rules import LEVELS, Catalogue
from autograd_doctor.renderers.sarif_text import plain
from autograd_doctor.renderers.spots import home, is_line_of_file, spot_of
from autograd_doctor.renderers.wording import was_judged
from autograd_doctor.report import Place, RelatedPlace, Report, ReportedFinding
from autograd_doctor.reports import Reports

NAME = "sarif"
SIGN = re.compile(
    r'\{\s*"\$schema": ?"[^"]*",\s*"version": ?"[^"]*",\s*"runs": ?\[\s*'
    r'\{\s*"tool": ?\{\s*"driver": ?\{\s*"name": ?"autograd_doctor"'
)

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_HOME = "https://pypi.org/project/autograd-doctor/"
_BASE = "CWD"
_RANKS: dict[Confidence, float] = {"high": 90.0, "medium": 50.0, "low": 10.0}
_IN_SOURCE = ("comment", "file-comment")
_CRASHED = ("raised", "killed", "hung", "timeout")


def render(report: Report, options: Options) -> str:
    """Indented JSON with one run."""
    return _log([_run(report, report.target.name)])


def compose(reports: Reports, parts: Sequence[Part], options: Options) -> str:
    """A run for each target, by whose name it is told from the others. What was not checked has none."""
    return _log([_run(part.report, part.name) for part in parts])


def _log(runs: list[dict[str, Any]]) -> str:
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": runs}
    return msgspec.json.format(msgspec.json.encode(log), indent=2).decode() + "\n"


def _run(report: Report, name: str) -> dict[str, Any]:
    rules = Catalogue(report)
    failed = [_result(report, finding, rules) for finding in (*report.findings, *report.suppressed)]
    skipped = [_skipped(report, code, why, rules) for code, why in report.checks.skipped.items()]
    return {
        "tool": {
            "driver": {
                "name": report.tool.name,
                "version": report.tool.version,
                "informationUri": _HOME,
                "rules": rules.descriptors(),
            }
        },
        "invocations": [_invocation(report)],
        "automationDetails": {"id": f"autograd-doctor/{quote(name, safe='')}/"},
        **_bases(report),
        "columnKind": "unicodeCodePoints",
        "results": failed + skipped,
        "properties": {
            "verdict": report.verdict,
            "environment": report.environment,
            "steps": report.run.steps,
            "ran": report.checks.ran,
        },
    }


# -------------------------------------------------------------------------------------------------------- invocation


def _invocation(report: Report) -> dict[str, Any]:
    """The check, successful if it came to a verdict; what it has to say beside its findings are notifications."""
    folder = {"workingDirectory": {"uri": _folder(report.target.cwd)}} if report.target.cwd else {}
    return {
        "executionSuccessful": was_judged(report),
        "exitCode": report.exit_code,
        "exitCodeDescription": report.exit_reason,
        "arguments": report.target.argv,
        **folder,
        "toolExecutionNotifications": [
            {"level": level, "message": {"text": plain(text)}} for level, text in _notifications(report)
        ],
    }


def _notifications(report: Report) -> Iterator[tuple[str, str]]:
    if not was_judged(report):
        yield "error", f"{report.verdict}: {report.exit_reason}"
    elif report.run.stopped_by in _CRASHED:
        yield "warning", f"the program did not run to its end ({report.run.stopped_by})"
    yield from (("note", note) for note in report.notes)


def _bases(report: Report) -> dict[str, Any]:
    """What relative paths are relative to."""
    cwd = report.target.cwd
    return {"originalUriBaseIds": {_BASE: {"uri": _folder(cwd)}}} if cwd else {}


def _folder(path: str) -> str:
    return f"file://{quote(path.rstrip('/'))}/"


# ----------------------------------------------------------------------------------------------------------- results


def _result(report: Report, finding: ReportedFinding, rules: Catalogue) -> dict[str, Any]:
    related = list(starmap(_related, enumerate(finding.related, start=1)))
    return {
        **rules.reference(finding.code),
        "level": LEVELS[finding.severity],
        "message": {"text": plain(_message(finding))},
        "locations": [_location(report, finding.location)],
        **({"relatedLocations": related, "codeFlows": [_flow(report, finding)]} if related else {}),
        "partialFingerprints": {"autogradDoctor/v1": finding.fingerprint},
        **({"suppressions": [_suppression(finding)]} if finding.suppressed else {}),
        **({"baselineState": _baseline_state(finding)} if report.baseline else {}),
        **_fixes(finding),
        "rank": _RANKS[finding.confidence],
        "properties": {
            "confidence": finding.confidence,
            "subject": finding.subject,
            "evidence": finding.evidence,
            "stepFirst": finding.step_first,
            "stepCount": finding.step_count,
            "ranks": finding.ranks,
        },
    }


def _message(finding: ReportedFinding) -> str:
    parts = [_with_cell(finding.location, finding.message or finding.title), *finding.notes]
    return "\n".join([*parts, f"help: {finding.help}"] if finding.help else parts)


def _skipped(report: Report, code: str, why: str, rules: Catalogue) -> dict[str, Any]:
    """A rule that could not judge, so that nobody takes its silence for health."""
    return {
        **rules.reference(code),
        "kind": "notApplicable",
        "level": "none",
        "message": {"text": plain(f"not checked: {why}")},
        "locations": [_location(report, None)],
    }


def _suppression(finding: ReportedFinding) -> dict[str, Any]:
    """The comment of the source, or what lies outside of it, that silenced a finding."""
    said = finding.suppressed
    kind = "inSource" if said and said.kind in _IN_SOURCE else "external"
    return {"kind": kind, "justification": said.reason if said else ""}


def _baseline_state(finding: ReportedFinding) -> str:
    """Whether the baseline that was read holds the finding."""
    return "unchanged" if finding.suppressed and finding.suppressed.kind == "baseline" else "new"


def _related(number: int, related: RelatedPlace) -> dict[str, Any]:
    return {"id": number, **_said_at(related.location, related.message)}


def _said_at(place: Place, said: str) -> dict[str, Any]:
    return {**_place(place), "message": {"text": plain(_with_cell(place, said))}}


def _with_cell(place: Place | None, said: str) -> str:
    """What is said of a place, after cell and line where no region can tell them."""
    return f"{spot_of(place)}: {said}" if place and place.cell else said


def _flow(report: Report, finding: ReportedFinding) -> dict[str, Any]:
    """The places that take part, the fault itself last."""
    places = [_said_at(other.location, other.message) for other in finding.related]
    last = {**_location(report, finding.location), "message": {"text": plain(finding.message or finding.title)}}
    return {"threadFlows": [{"locations": [{"location": place} for place in (*places, last)]}]}


# --------------------------------------------------------------------------------------------------------- locations


def _location(report: Report, place: Place | None) -> dict[str, Any]:
    """A place; GitHub demands one of every result, so the target's file stands for one that is not known."""
    return _place(place) if place else {"physicalLocation": {"artifactLocation": _artifact(home(report.target))}}


def _place(place: Place) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": _artifact(place.path or f"cell {place.cell}")}
    if is_line_of_file(place):
        physical["region"] = _region(place)
        if place.snippet:
            lines = {"startLine": place.line, "endLine": place.line + place.snippet.count("\n")}
            physical["contextRegion"] = {**lines, "snippet": {"text": place.snippet}}
    return {"physicalLocation": physical, **_logical(place)}


def _logical(place: Place) -> dict[str, Any]:
    named = [{"name": f"cell {place.cell}", "kind": "module"}] if place.cell else []
    named += [{"fullyQualifiedName": one_line(place.function), "kind": "function"}] if place.function else []
    return {"logicalLocations": named} if named else {}


def _artifact(path: str) -> dict[str, str]:
    """A file by its URI: relative to the program's folder, or absolute if it lies elsewhere."""
    if PurePosixPath(path).is_absolute():
        return {"uri": f"file://{quote(path)}"}
    return {"uri": quote(path, safe="/"), "uriBaseId": _BASE}


def _region(place: Place | Edit) -> dict[str, int]:
    """Columns count characters from 1 and the end is exclusive, as in our own reports; 0 is left out."""
    region = {"startLine": place.line, "endLine": max(place.line, place.end_line)}
    if place.column:
        region["startColumn"] = place.column
        if place.end_column and (place.end_line > place.line or place.end_column >= place.column):
            region["endColumn"] = place.end_column
    return region


def _fixes(finding: ReportedFinding) -> dict[str, Any]:
    """The edits of a fix, where all are of files whose lines can be named."""
    edits = finding.fix.edits if finding.fix else ()
    if finding.fix is None or not edits or any(edit.cell or not edit.line for edit in edits):
        return {}
    changes = [
        {
            "artifactLocation": _artifact(path),
            "replacements": [
                {"deletedRegion": _region(edit), "insertedContent": {"text": edit.content}}
                for edit in edits
                if edit.path == path
            ],
        }
        for path in dict.fromkeys(edit.path for edit in edits)
    ]
    said = ": ".join(filter(None, (finding.fix.description, *verdict(finding.fix))))
    return {"fixes": [{"description": {"text": plain(said)}, "artifactChanges": changes}]}
