"""Findings meet a baseline: the key by which they are known again, which of them are, and what is stale."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Container, Iterable
from pathlib import Path

from msgspec.structs import replace

from autograd_doctor.accepted import Known, KnownBefore
from autograd_doctor.judging import source
from autograd_doctor.notebook import cell_file
from autograd_doctor.report import Place, ReportedFinding, Suppression

_PACKAGES = "site-packages/"


class Keys:
    """What findings are known by, of a program that ran in `cwd`, for a baseline with paths relative to `root`."""

    def __init__(self, cwd: str, root: Path) -> None:
        self._cwd = cwd
        self._root = root
        self._lines: dict[str, list[str]] = {}

    def of(self, finding: ReportedFinding) -> Known:
        """The key of a finding: nothing that moves with lines, numbers, steps, devices or releases of torch."""
        place = finding.location
        if place is None:
            return Known(code=finding.code, subject=finding.subject)
        return Known(
            code=finding.code,
            path=relative(Path(self._cwd, place.path), self._root),
            function=place.function,
            subject=finding.subject,
            source=self._source(place),
        )

    def _source(self, place: Place) -> str:
        file = cell_file(str(Path(self._cwd, place.path)), place.cell)
        if file not in self._lines:
            self._lines[file] = _without_comments(source.lines(Path(file)))
        lines = self._lines[file][max(0, place.line - 1) : place.end_line]
        return " ".join(" ".join(lines[: source.SNIPPET_LINES]).split())


class KnownFindings:
    """The findings of a baseline, and how many of each were found again."""

    def __init__(self, before: KnownBefore, cwd: str) -> None:
        self.path = before.path
        self._keys = Keys(cwd, before.root)
        self._left = _counts(before.findings)

    def match(self, finding: ReportedFinding) -> ReportedFinding:
        """The finding, suppressed if it is one more of those that are known; what the program died of never is."""
        key = self._keys.of(finding)
        if finding.suppressed or finding.explains_crash or self._left[key] <= 0:
            return finding
        self._left[key] -= 1
        return replace(finding, suppressed=Suppression("baseline", f"known from {self.path}"))

    def stale(self, ran: Container[str]) -> list[Known]:
        """What was not found again, of rules that judged the run."""
        left = ((key, count) for key, count in self._left.items() if count > 0 and key.code in ran)
        return sorted(replace(key, count=count) for key, count in left)


def gathered(findings: Iterable[ReportedFinding], keys: Keys) -> list[Known]:
    """Findings as a baseline holds them, in an order that depends on nothing else."""
    counts = Counter(keys.of(finding) for finding in findings if not finding.explains_crash)
    return sorted(replace(key, count=count) for key, count in counts.items())


def _counts(findings: Iterable[Known]) -> Counter[Known]:
    """How often each is there; a merge of two versions of a file may leave the same one twice."""
    counts: Counter[Known] = Counter()
    for known in findings:
        counts[replace(known, count=1)] += known.count
    return counts


def relative(file: Path, root: Path) -> str:
    """A path from the project on; of a library, from where libraries are installed on."""
    path = Path(os.path.relpath(os.path.realpath(file), os.path.realpath(root))).as_posix()
    outside, packages, inside = path.rpartition(_PACKAGES)
    return packages + inside if outside else path


def _without_comments(lines: list[str]) -> list[str]:
    for comment in source.comments(lines):
        lines[comment.line - 1] = lines[comment.line - 1][: comment.column]
    return lines
