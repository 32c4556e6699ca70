"""A change as it is shown and applied: a diff, and edits."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath

from autograd_doctor.findings import Edit, Fix
from autograd_doctor.fixing.candidate import Candidate
from autograd_doctor.fixing.changed_sources import Sources
from autograd_doctor.fixing.line_edits import diff, edits
from autograd_doctor.notebook import parted

_EACH_BYTE = "latin-1"
"""Has a character for each byte."""


def fix_of(candidate: Candidate, before: Sources, cwd: str) -> Fix:
    """What a finding carries of a change; paths are relative to the folder of the program where they lie below it."""
    return Fix(
        applicability="safe" if candidate.keeps else "unsafe",
        description=candidate.description,
        edits=tuple(_edits(before, candidate.sources, cwd)),
        diff="".join(_diffs(before, candidate.sources, cwd)),
    )


def patch(before: Sources, after: Sources, cwd: str) -> bytes:
    """All changes of files as `git apply` takes them: in the bytes of each file, whatever their encoding."""
    files = sorted(file for file in after.changed if before.data(file) != after.data(file))
    texts = ((file, *(sources.data(file).decode(_EACH_BYTE) for sources in (before, after))) for file in files)
    return b"".join(diff(_named(file, cwd), *both).encode(_EACH_BYTE) for file, *both in texts)


def _diffs(before: Sources, after: Sources, cwd: str) -> Iterator[str]:
    for path in _changed(before, after):
        file, cell = parted(path)
        name, end = (f"{_named(file, cwd)}:cell {cell}", "\n") if cell else (_named(file, cwd), "")
        yield diff(name, before.text(path) + end, after.text(path) + end)  # the last line of a cell has no end


def _edits(before: Sources, after: Sources, cwd: str) -> Iterator[Edit]:
    for path in _changed(before, after):
        file, cell = parted(path)
        yield from edits(_named(file, cwd), before.text(path), after.text(path), cell)


def _changed(before: Sources, after: Sources) -> list[str]:
    return sorted(path for path in after.touched if before.text(path) != after.text(path))


def _named(file: str, cwd: str) -> str:
    pure = PurePath(file)
    return (pure.relative_to(cwd) if cwd and pure.is_relative_to(cwd) else pure).as_posix()
