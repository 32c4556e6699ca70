"""Code frames: the user's lines with a gutter, the spans of a finding underlined and labelled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from autograd_doctor.judging import source
from autograd_doctor.notebook import cell_file
from autograd_doctor.report import Place

NEAR = 12
"""Places at most this many lines apart share a frame."""

CONTEXT = 1
"""Lines shown around the primary place."""

GAP = 2
"""Up to this many lines are shown rather than left out between two that are shown."""

HEAD, TAIL = 5, 2
"""Of a longer span, these many lines at its start and end are shown."""


@dataclass(frozen=True)
class Mark:
    """A place to point at, and what to say there."""

    place: Place
    label: str
    primary: bool

    @property
    def spans_lines(self) -> bool:
        return self.place.end_line > self.place.line


@dataclass(frozen=True)
class Frame:
    """Neighbouring marks of one file. `lines` are those that can be shown; none if the file is gone."""

    marks: tuple[Mark, ...]
    lines: Mapping[int, str]

    @property
    def anchor(self) -> Place:
        """The place that the frame is named after."""
        return next((mark for mark in self.marks if mark.primary), self.marks[0]).place


def frames(marks: Sequence[Mark], cwd: str) -> list[Frame]:
    """The marks grouped into frames, the one with the primary mark first."""
    groups: list[list[Mark]] = []
    for mark in sorted(marks, key=lambda mark: (_file(mark), mark.place.line, mark.place.column)):
        if groups and _near(groups[-1], mark):
            groups[-1].append(mark)
        else:
            groups.append([mark])
    made = [Frame(tuple(group), _lines(group, cwd)) for group in groups]
    order = {id(mark): position for position, mark in enumerate(marks)}
    return sorted(made, key=lambda frame: min((not mark.primary, order[id(mark)]) for mark in frame.marks))


def _file(mark: Mark) -> str:
    return cell_file(mark.place.path, mark.place.cell)


def _near(group: Sequence[Mark], mark: Mark) -> bool:
    last = max(other.place.end_line for other in group)
    return _file(group[0]) == _file(mark) and mark.place.line - last <= NEAR


def _lines(marks: Sequence[Mark], cwd: str) -> dict[int, str]:
    """The lines to show. A file that has changed since the run, or is gone, shows only what the report quotes."""
    quoted = {
        mark.place.line + offset: line
        for mark in marks
        for offset, line in enumerate(mark.place.snippet.split("\n") if mark.place.snippet else ())
    }
    text = source.lines(Path(cwd, _file(marks[0]))) if quoted else []
    current = dict(enumerate(text, start=1))
    if any(current.get(number) != line for number, line in quoted.items()):
        current = quoted
    shown = {number: current[number] for number in sorted(_wanted(marks)) if number in current}
    return _without_blank_edges(shown, quoted)


def _wanted(marks: Sequence[Mark]) -> set[int]:
    wanted: set[int] = set()
    for mark in marks:
        first, last = mark.place.line, mark.place.end_line
        span = range(first, last + 1)
        wanted.update(span if len(span) <= HEAD + GAP + TAIL else [*span[:HEAD], *span[-TAIL:]])
        if mark.primary:
            wanted.update(range(first - CONTEXT, first), range(last + 1, last + 1 + CONTEXT))
    ordered = sorted(wanted)
    for before, after in pairwise(ordered):
        if after - before - 1 <= GAP:
            wanted.update(range(before, after))
    return wanted


def _without_blank_edges(lines: dict[int, str], needed: Mapping[int, str]) -> dict[int, str]:
    numbers = list(lines)
    while numbers and numbers[0] not in needed and not lines[numbers[0]].strip():
        numbers.pop(0)
    while numbers and numbers[-1] not in needed and not lines[numbers[-1]].strip():
        numbers.pop()
    return {number: lines[number] for number in numbers}
