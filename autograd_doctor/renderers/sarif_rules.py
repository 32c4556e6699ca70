"""The rules of a SARIF log: what the catalogue says of each, and numbers that results refer to them by."""

from __future__ import annotations

import inspect
from typing import Any

from autograd_doctor.findings import CONFIDENCES, Severity
from autograd_doctor.renderers.printable import one_line
from autograd_doctor.report import Report, ReportedFinding
from autograd_doctor.rules import Rule, all_rules

LEVELS: dict[Severity, str] = {"error": "error", "warning": "warning", "info": "note"}
_PROBLEMS: dict[Severity, str] = {"error": "error", "warning": "warning", "info": "recommendation"}
_LONGEST = 1024
"""GitHub refuses longer descriptions."""


class Catalogue:
    """The rules that a report speaks of, in the order of their codes."""

    def __init__(self, report: Report) -> None:
        self._findings: dict[str, list[ReportedFinding]] = {}
        for finding in (*report.findings, *report.suppressed):
            self._findings.setdefault(finding.code, []).append(finding)
        self._codes = sorted({*report.checks.ran, *report.checks.skipped, *self._findings})
        self._known = {rule.code: rule for rule in all_rules()}

    def reference(self, code: str) -> dict[str, Any]:
        return {"ruleId": code, "ruleIndex": self._codes.index(code)}

    def descriptors(self) -> list[dict[str, Any]]:
        return [self._descriptor(code) for code in self._codes]

    def _descriptor(self, code: str) -> dict[str, Any]:
        rule = self._known.get(code)
        if rule is None:
            return self._of_findings(code)
        return {
            "id": code,
            "name": rule.name,
            "shortDescription": {"text": one_line(rule.title)},
            "fullDescription": {"text": _cut(one_line(rule.observes))},
            "help": {"text": _help(rule, "{}:"), "markdown": _help(rule, "**{}**")},
            "defaultConfiguration": {"level": LEVELS[rule.severity]},
            "properties": self._properties(code, rule.severity),
        }

    def _of_findings(self, code: str) -> dict[str, Any]:
        """What can be said of a rule that this doctor does not know: of a later one, or of a plugin."""
        found = self._findings.get(code)
        if not found:
            return {"id": code}
        title = {"text": one_line(found[0].title) or code}
        return {
            "id": code,
            "name": one_line(found[0].name),
            "shortDescription": title,
            "fullDescription": title,
            "help": {"text": one_line(found[0].help) or title["text"]},
            "properties": self._properties(code, found[0].severity),
        }

    def _properties(self, code: str, severity: Severity) -> dict[str, Any]:
        """As precise as the least certain of its findings; a rule that found nothing claims nothing less than high."""
        precisions = [finding.confidence for finding in self._findings.get(code, ())]
        return {
            "precision": max(precisions, key=CONFIDENCES.index, default="high"),
            "problem.severity": _PROBLEMS[severity],
            "tags": ["pytorch", "training"],
        }


def _help(rule: Rule, heading: str) -> str:
    sections = {
        "Why it is bad": rule.why,
        "How to fix it": rule.fix,
        "When this is fine": rule.fine,
        "How to silence it": f"`# doctor: ignore[{rule.code}] reason` on the line, or `--ignore {rule.code}`",
    }
    said = [f"{heading.format(name)}\n\n{inspect.cleandoc(prose)}" for name, prose in sections.items() if prose.strip()]
    return "\n\n".join(said)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
