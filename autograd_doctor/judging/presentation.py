"""Findings as the report shows them: relative paths, quoted source, fingerprints, plain numbers."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import Any

import msgspec

from autograd_doctor.findings import Evidence, Fault, Finding, Fix, Location, Number
from autograd_doctor.judging import source
from autograd_doctor.notebook import cell_file, parted, spoken
from autograd_doctor.report import Place, RelatedPlace, ReportedFinding, Suppression


class Presenter:
    """Turns findings into reported ones for a program that ran in `cwd`; each file is read once.

    running: the numbers of cells that ran in IPython, by the names under which Python knows them.
    """

    def __init__(self, cwd: str, running: Mapping[str, int] = MappingProxyType({})) -> None:
        self._cwd = cwd
        self._running = running
        self._lines: dict[str, list[str]] = {}

    def finding(
        self,
        finding: Finding,
        *,
        notes: Iterable[str] = (),
        explains_crash: bool = False,
        suppressed: Suppression | None = None,
    ) -> ReportedFinding:
        """The finding with further `notes` after its own."""
        location = self.place(finding.location) if finding.location else None
        said = {name: getattr(finding, name) for name in Fault.__struct_fields__}
        said |= {name: self.text(said[name]) for name in ("title", "message", "help")}
        said |= {"evidence": plain(finding.evidence), "fix": self.fix(finding.fix) if finding.fix else None}
        return ReportedFinding(
            **said,
            location=location,
            related=[RelatedPlace(self.text(other.message), self.place(other.location)) for other in finding.related],
            notes=[self.text(note) for note in (*finding.notes, *notes)],
            explains_crash=explains_crash,
            fingerprint=fingerprint(finding, location),
            url="",
            suppressed=suppressed,
        )

    def fix(self, fix: Fix) -> Fix:
        """A fix of files that are named as everywhere in the report."""
        edits = tuple(
            msgspec.structs.replace(edit, path=self.path(edit.path), cell=self._cell(edit.path)) for edit in fix.edits
        )
        return msgspec.structs.replace(fix, description=self.text(fix.description), edits=edits)

    def place(self, location: Location) -> Place:
        """A location with the lines that it spans."""
        if location.path not in self._lines:
            self._lines[location.path] = source.lines(Path(self._cwd, location.path))
        end_line = max(location.line, location.end_line)
        return Place(
            path=self.path(location.path),
            line=location.line,
            column=location.column,
            end_line=end_line,
            end_column=location.end_column,
            function=location.function,
            snippet=source.snippet(self._lines[location.path], location.line, end_line),
            cell=self._cell(location.path),
        )

    def path(self, path: str) -> str:
        """The path of a file relative to the program's folder, absolute if it lies elsewhere; of a cell that ran in
        IPython, empty."""
        if path in self._running:
            return ""
        pure = PurePath(parted(path)[0])
        return (pure.relative_to(self._cwd) if self._cwd and pure.is_relative_to(self._cwd) else pure).as_posix()

    def line(self, path: str, line: int) -> str:
        """A line as prose names it."""
        return spoken(f"{cell_file(self.path(path), self._cell(path))}:{line}")

    def _cell(self, path: str) -> int:
        """The number of a cell, 0 for any other file."""
        return self._running.get(path) or parted(path)[1]

    def text(self, text: str) -> str:
        """Prose in which the paths are relative too."""
        for file, number in self._running.items():
            text = text.replace(file, cell_file("", number))
        text, folder = spoken(text), self._cwd.rstrip("/")
        return re.sub(rf"(?<![\w./-]){re.escape(folder)}/", "", text) if folder else text


def fingerprint(finding: Finding, location: Place | None) -> str:
    """What makes two findings of different runs the same: no line numbers, no numbers of the evidence, no steps."""
    where = (location.path, location.function, " ".join(location.snippet.split())) if location else ("", "", "")
    key = "\0".join((finding.code, finding.subject, *where))
    return hashlib.sha256(key.encode(errors="surrogatepass")).hexdigest()[:16]


def plain(evidence: Evidence) -> Evidence:
    """Evidence in values that JSON can hold."""
    return {name: _plain_value(value) for name, value in evidence.items()}


def _plain_value(value: Any) -> Number | str | list[str]:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return [str(item) for item in value] if isinstance(value, list | tuple) else str(value)
