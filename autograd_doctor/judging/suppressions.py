"""Comments that silence rules: `# doctor: ignore[AD101] reason` for a line, `# doctor: file-ignore[…]` for a file."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from dataclasses import dataclass
from pathlib import Path

from autograd_doctor.findings import Finding, Location
from autograd_doctor.judging import source
from autograd_doctor.judging.reached import Reached
from autograd_doctor.notebook import cell_file, parted
from autograd_doctor.report import Suppression

COMMENT = re.compile(r"#\s*doctor:\s*(?P<file>file-)?ignore\[(?P<rules>[\w\s,-]+)\]\s*(?P<reason>.*)")
"""An ignore comment, which may stand behind another comment."""


@dataclass(frozen=True)
class Ignore:
    """One rule, by code or name, that a comment silences for lines `first` to `last`, or for its whole file."""

    path: str
    line: int
    statement: int
    rule: str
    reason: str
    whole_file: bool
    first: int
    last: int

    def covers(self, location: Location, file: str) -> bool:
        """Whether the comment stands at any line of a place in its file, which may be a cell of its notebook."""
        end = max(location.line, location.end_line)
        return self.whole_file or (self.path == file and self.first <= end and location.line <= self.last)


class Ignores:
    """The ignore comments of the files that findings speak of, and which of them were of use."""

    def __init__(self, cwd: str, script: str, *, honoured: bool = True) -> None:
        self._cwd = cwd
        self._honoured = honoured
        self._by_path: dict[Path, list[Ignore]] = {}
        self._used: set[Ignore] = set()
        self._of(script)

    def match(self, finding: Finding) -> Suppression | None:
        """What silences a finding, if anything does: a comment at any of its places counts."""
        places = [finding.location] if finding.location else []
        for location in places + [related.location for related in finding.related]:
            for ignore in self._of(location.path):
                if ignore.rule in (finding.code, finding.name) and ignore.covers(location, self._file(location.path)):
                    self._used.add(ignore)
                    return Suppression("file-comment" if ignore.whole_file else "comment", ignore.reason)
        return None

    def unused(self, judged: Container[str], reached: Reached) -> Iterator[Ignore]:
        """Comments that silenced nothing although their rule, by code or name, judged a run in which their line ran."""
        for ignores in self._by_path.values():
            for ignore in ignores:
                if ignore.rule in judged and ignore not in self._used and _ran(ignore, reached):
                    yield ignore

    def unknown(self, rules: Container[str]) -> Iterator[Ignore]:
        """Comments that name none of these rules, neither by code nor by name."""
        for ignores in self._by_path.values():
            yield from (ignore for ignore in ignores if ignore.rule not in rules)

    def _file(self, path: str) -> str:
        return str(Path(self._cwd, path))

    def _of(self, path: str) -> list[Ignore]:
        """The comments of a file; those of a cell are the comments of its whole notebook."""
        file = Path(parted(self._file(path))[0])
        if file not in self._by_path and self._honoured:
            self._by_path[file] = [ignore for part in _parts(file) for ignore in _ignores(part)]
        return self._by_path.get(file, [])


def _ran(ignore: Ignore, reached: Reached) -> bool:
    if ignore.whole_file:
        return reached.file(ignore.path)
    return reached.statement(ignore.path, ignore.statement)


def _parts(file: Path) -> list[Path]:
    """The cells of a notebook; any other file is whole."""
    if file.suffix != ".ipynb":
        return [file]
    return [Path(cell_file(str(file), cell.number)) for cell in source.cells_of(file)]


def _ignores(file: Path) -> Iterator[Ignore]:
    text = source.lines(file)
    if not any("doctor:" in line for line in text):
        return
    for comment in source.comments(text):
        match = COMMENT.search(comment.text)
        if match:
            for rule in match["rules"].split(","):
                yield Ignore(
                    path=str(file),
                    line=comment.line,
                    statement=comment.statement,
                    rule=rule.strip(),
                    reason=match["reason"].strip(),
                    whole_file=bool(match["file"]),
                    first=comment.first,
                    last=comment.last,
                )
