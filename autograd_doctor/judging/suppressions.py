"""Comments that silence rules: `# doctor: ignore[AD101] reason` for a line, `# doctor: file-ignore[…]` for a file."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from dataclasses import dataclass
from pathlib import Path

from autograd_doctor.findings import Finding, Location
from autograd_doctor.judging import source
from autograd_doctor.report import Suppression

_COMMENT = re.compile(r"#\s*doctor:\s*(?P<file>file-)?ignore\[(?P<rules>[\w\s,-]+)\]\s*(?P<reason>.*)")


@dataclass(frozen=True)
class Ignore:
    """One rule, by code or name, that a comment silences for lines `first` to `last`, or for its whole file."""

    path: str
    line: int
    rule: str
    reason: str
    whole_file: bool
    first: int
    last: int

    def covers(self, location: Location) -> bool:
        """Whether the comment stands at any line of a place in its file."""
        end = max(location.line, location.end_line)
        return self.whole_file or (self.first <= end and location.line <= self.last)


class Ignores:
    """The ignore comments of the files that findings speak of, and which of them were of use."""

    def __init__(self, cwd: str, script: str) -> None:
        self._cwd = cwd
        self._by_path: dict[Path, list[Ignore]] = {}
        self._used: set[Ignore] = set()
        self._of(script)

    def match(self, finding: Finding) -> Suppression | None:
        """What silences a finding, if anything does: a comment at any of its places counts."""
        places = [finding.location] if finding.location else []
        for location in places + [related.location for related in finding.related]:
            for ignore in self._of(location.path):
                if ignore.rule in (finding.code, finding.name) and ignore.covers(location):
                    self._used.add(ignore)
                    return Suppression("file-comment" if ignore.whole_file else "comment", ignore.reason)
        return None

    def unused(self, judged: Container[str]) -> Iterator[Ignore]:
        """Comments that silenced nothing although their rule, by code or name, is among those that judged the run."""
        for ignores in self._by_path.values():
            yield from (ignore for ignore in ignores if ignore.rule in judged and ignore not in self._used)

    def unknown(self, rules: Container[str]) -> Iterator[Ignore]:
        """Comments that name none of these rules, neither by code nor by name."""
        for ignores in self._by_path.values():
            yield from (ignore for ignore in ignores if ignore.rule not in rules)

    def _of(self, path: str) -> list[Ignore]:
        file = Path(self._cwd, path)
        if file not in self._by_path:
            self._by_path[file] = list(_ignores(file))
        return self._by_path[file]


def _ignores(file: Path) -> Iterator[Ignore]:
    text = source.lines(file)
    if not any("doctor:" in line for line in text):
        return
    for comment in source.comments(text):
        match = _COMMENT.match(comment.text)
        if match:
            for rule in match["rules"].split(","):
                yield Ignore(
                    path=str(file),
                    line=comment.line,
                    rule=rule.strip(),
                    reason=match["reason"].strip(),
                    whole_file=bool(match["file"]),
                    first=comment.first,
                    last=comment.last,
                )
