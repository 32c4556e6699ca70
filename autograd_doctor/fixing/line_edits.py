"""Texts compared line by line: diffs, edits, and where a line has gone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher, unified_diff

from autograd_doctor.findings import Edit

_NO_NEWLINE = "\\ No newline at end of file\n"


def diff(path: str, before: str, after: str) -> str:
    """A unified diff as `git apply` takes it. `path` is relative to the folder in which it is applied, or to `/`."""
    old, new = _lines(before), _lines(after)
    name = path.removeprefix("/")
    told = unified_diff(old, new, f"a/{name}", f"b/{name}", n=3)
    return "".join(line if line.endswith("\n") else f"{line}\n{_NO_NEWLINE}" for line in told)


def edits(path: str, before: str, after: str, cell: int = 0) -> tuple[Edit, ...]:
    """What turns a text into another one, in whole lines."""
    old, new = _lines(before), _lines(after)
    return tuple(
        Edit(
            path=path,
            line=first + 1,
            column=1,
            end_line=last + 1,
            end_column=1,
            content="".join(new[new_first:new_last]),
            cell=cell,
        )
        for first, last, new_first, new_last in _changes(old, new)
    )


def moved(before: str, after: str) -> Mapping[int, int]:
    """Where the lines of a text are in another one, by where they are in the first; both from 1.

    One that is indented otherwise is the same, and so are as many that stand in the place of as many.
    """
    bare = ([line.strip() for line in _lines(text)] for text in (before, after))
    found: dict[int, int] = {}
    for _, first, last, new_first, new_last in _matcher(*bare).get_opcodes():
        if last - first == new_last - new_first:
            found.update(zip(range(first + 1, last + 1), range(new_first + 1, new_last + 1), strict=True))
    return found


def carried_over(text: str, before: str, after: str) -> str:
    """A text with the changes of another one that has the same lines, of which some are spelt otherwise in it."""
    if text == before:
        return after
    lines, new = _lines(text), _lines(after)
    for first, last, new_first, new_last in reversed(_changes(_lines(before), new)):
        lines[first:last] = new[new_first:new_last]
    return "".join(lines)


def _changes(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int, int, int]]:
    return [codes[1:] for codes in _matcher(old, new).get_opcodes() if codes[0] != "equal"]


def _matcher(old: Sequence[str], new: Sequence[str]) -> SequenceMatcher[str]:
    return SequenceMatcher(None, old, new, autojunk=False)


def _lines(text: str) -> list[str]:
    """As Python counts them: a form feed ends none."""
    return list(_split(text))


def _split(text: str) -> Iterator[str]:
    start = 0
    while start < len(text):
        ends = [at for at in (text.find("\n", start), text.find("\r", start)) if at >= 0]
        end = min(ends, default=len(text) - 1)
        end += text.startswith("\r\n", end)
        yield text[start : end + 1]
        start = end + 1
