"""One cause, one finding: which findings are mere consequences of which others, and which matter most."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from autograd_doctor.findings import CONFIDENCES, SEVERITIES, Finding

PROGRAM_CRASHED = "AD599"
"""The rule that reports any crash: a finding that folds it explains the crash, by itself it explains nothing."""
_MOST_NAMED = 5
"""Steps in which something was seen again."""


@dataclass(frozen=True)
class Case:
    """A fault and what followed from it."""

    finding: Finding
    consequences: tuple[Finding, ...]

    @property
    def reports_crash(self) -> bool:
        """Whether this is why, or at least where, the program died."""
        return any(finding.code == PROGRAM_CRASHED for finding in (self.finding, *self.consequences))


def cases(findings: Iterable[Finding], folds: Mapping[str, tuple[str, ...]]) -> list[Case]:
    """The faults among the findings, most important first. `folds` maps codes to those of their consequences.

    Where several findings could be the cause of another, the most important one is. A cause is at least as severe as
    what followed from it, so that folding hides nothing from a gate.
    """
    ordered = _without_repeats(sorted(findings, key=_importance))
    causes = _causes(ordered, folds)
    found = [
        _case(finding, [ordered[other] for other in sorted(causes) if _root(other, causes) == position])
        for position, finding in enumerate(ordered)
        if position not in causes
    ]
    return sorted(found, key=lambda case: _importance(case.finding, case.reports_crash))


def _without_repeats(findings: Iterable[Finding]) -> list[Finding]:
    """One finding for what was found of several objects that a line makes one after the other under the same name."""
    alike: dict[object, list[Finding]] = {}
    for finding in findings:
        key = (finding.code, finding.subject, finding.location) if finding.location else (finding.code, id(finding))
        alike.setdefault(key, []).append(finding)
    return [_together(*found) for found in alike.values()]


def _together(first: Finding, *again: Finding) -> Finding:
    if not again:
        return first
    steps = sorted({each.step_first for each in again})
    named = ", ".join(map(str, steps[:_MOST_NAMED])) + (" …" if len(steps) > _MOST_NAMED else "")
    found = (first, *again)
    return msgspec.structs.replace(
        first,
        notes=(*first.notes, f"seen again from step {named} on"),
        parameters=tuple(sorted({parameter for each in found for parameter in each.parameters}))
        if all(each.parameters for each in found)
        else (),
        step_count=sum(each.step_count for each in found),
    )


def _case(finding: Finding, consequences: Sequence[Finding]) -> Case:
    severity = min((each.severity for each in (finding, *consequences)), key=SEVERITIES.index)
    return Case(msgspec.structs.replace(finding, severity=severity), tuple(consequences))


def _causes(findings: Sequence[Finding], folds: Mapping[str, tuple[str, ...]]) -> dict[int, int]:
    """For the position of each consequence, that of its direct cause."""
    causes: dict[int, int] = {}
    # The least important first: of two faults that fold each other, the more important one must stay.
    for position in reversed(range(len(findings))):
        for candidate, other in enumerate(findings):
            # What is only worth knowing is no fault that others could follow from.
            is_no_fault = other.severity == "info" and findings[position].severity != "info"
            follows = not is_no_fault and findings[position].code in folds.get(other.code, ())
            if follows and _share_parameters(findings[position], other) and _root(candidate, causes) != position:
                causes[position] = candidate
                break
    return causes


def _share_parameters(finding: Finding, other: Finding) -> bool:
    """A finding that names no parameters may be about any."""
    return not finding.parameters or not other.parameters or not set(finding.parameters).isdisjoint(other.parameters)


def _root(position: int, causes: Mapping[int, int]) -> int:
    while position in causes:
        position = causes[position]
    return position


def _importance(finding: Finding, reports_crash: bool = False) -> tuple[object, ...]:
    place = finding.location
    return (
        SEVERITIES.index(finding.severity),
        CONFIDENCES.index(finding.confidence),
        not reports_crash,
        finding.step_first,
        finding.code,
        (place.path, place.line, place.column) if place else ("", 0, 0),
        finding.subject,
        finding.message,
    )
