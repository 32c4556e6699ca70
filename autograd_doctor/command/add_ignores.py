"""`--add-ignore`: comments that silence the findings of a report, written where statements end."""

from __future__ import annotations

import ast
import io
import os
import tokenize
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from autograd_doctor.command import writing
from autograd_doctor.config_file import shown
from autograd_doctor.judging.suppressions import COMMENT
from autograd_doctor.mistakes import Mistake
from autograd_doctor.report import Report

_LAYOUT = (tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING, tokenize.ENDMARKER)


class _Statement(NamedTuple):
    """The lines of a statement, or of the head of a compound one, and the comment at its end, if there is one."""

    first: int
    last: int
    comment: tokenize.TokenInfo | None


def add_ignores(report: Report, root: Path, reason: str) -> Iterator[str]:
    """Silence the findings of a report in the project's own files; says what was done. Raises `Mistake`."""
    wanted: dict[Path, dict[int, list[str]]] = {}
    for finding in report.findings:
        place = finding.location
        file = Path(os.path.realpath(Path(report.target.cwd, place.path))) if place else Path()
        inside = file.is_relative_to(os.path.realpath(root)) and "site-packages" not in file.parts
        if place is None or finding.explains_crash or file.suffix != ".py" or not inside:
            yield (
                f"{finding.code} got no comment: it does not point to a statement of this project after which the "
                "program went on"
            )
            continue
        wanted.setdefault(file, {}).setdefault(place.line, []).append(finding.code)
    for file, codes in wanted.items():
        text, encoding = _read(file)
        changed = with_comments(text, codes, reason)
        if changed is None:
            yield f"{shown(file)} got no comment: one cannot be added without changing the program"
            continue
        writing.write(file, changed.encode(encoding))
        for line in sorted(codes):
            yield f"`doctor: ignore[{', '.join(codes[line])}]` was written for {shown(file)}:{line}"


def with_comments(text: str, wanted: Mapping[int, Iterable[str]], reason: str) -> str | None:
    """Source with comments for the statements at the given lines; None unless it is the same program afterwards."""
    rows = text.split("\n")
    try:
        statements = list(_statements(text))
        by_statement: dict[_Statement, list[str]] = {}
        for line, codes in wanted.items():
            found = next(each for each in statements if each.first <= line <= each.last)
            by_statement.setdefault(found, []).extend(codes)
        for statement, codes in by_statement.items():
            row = rows[statement.last - 1]
            rows[statement.last - 1] = _with_comment(row, statement.comment, list(dict.fromkeys(codes)), reason)
        changed = "\n".join(rows)
        same = ast.dump(ast.parse(changed)) == ast.dump(ast.parse(text))
    except (StopIteration, SyntaxError, tokenize.TokenError, ValueError, RecursionError):
        return None
    return changed if same else None


def _with_comment(row: str, comment: tokenize.TokenInfo | None, codes: list[str], reason: str) -> str:
    ours = COMMENT.search(comment.string) if comment else None
    if comment is None or ours is None or ours["file"]:
        bare = row.rstrip()
        said = f"# doctor: ignore[{', '.join(codes)}] {_on_a_line(reason)}".rstrip()
        return f"{bare}  {said}{row[len(bare) :] if row.endswith(chr(13)) else ''}"
    there = [rule.strip() for rule in ours["rules"].split(",")]
    begin, end = (comment.start[1] + position for position in ours.span("rules"))
    return row[:begin] + ", ".join(dict.fromkeys([*there, *codes])) + row[end:]


def _on_a_line(reason: str) -> str:
    """A reason as a comment can hold it."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in reason).split())


def _statements(text: str) -> Iterator[_Statement]:
    first, comment = 0, None
    for token in tokenize.generate_tokens(io.StringIO(text, newline="").readline):
        if token.type == tokenize.COMMENT:
            comment = token
        elif token.type == tokenize.NEWLINE:
            last = token.start[0]
            yield _Statement(first, last, comment if comment and comment.start[0] == last else None)
            first, comment = 0, None
        elif token.type not in _LAYOUT:
            first = first or token.start[0]


def _read(file: Path) -> tuple[str, str]:
    try:
        data = file.read_bytes()
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return data.decode(encoding), encoding
    except (OSError, SyntaxError, UnicodeDecodeError) as error:
        raise Mistake(f"{shown(file)}: cannot be read: {error}") from None
