"""Text of the user's in Markdown: whatever it holds, it stays text."""

from __future__ import annotations

import re

from autograd_doctor.renderers.printable import one_line

_SPAN = re.compile(r"(?<!`)`[^`\n]+`(?!`)")
_SPECIAL = re.compile(r"[\\`*_\[\]<>&|~$#!]")
_PINGS = re.compile(r"([@#])(?=\w)")
_LONGEST = 500


def prose(text: str, *, in_table: bool = False) -> str:
    """One line of prose, in which what stands in backticks is code, and nothing else means anything."""
    text = _short(one_line(text))
    parts, end = [], 0
    for span in _SPAN.finditer(text):
        parts += [_escaped(text[end : span.start()]), code(span[0][1:-1], in_table=in_table)]
        end = span.end()
    return "".join([*parts, _escaped(text[end:])])


def code(text: str, *, in_table: bool = False) -> str:
    """Text as code within a line, between more backticks than it holds; a cell of a table ends at any bare bar."""
    text = _short(one_line(text))
    if not text:
        return ""
    ticks = "`" * (_longest_run(text) + 1)
    padding = " " if text.startswith("`") or text.endswith("`") else ""
    shown = f"{ticks}{padding}{text}{padding}{ticks}"
    return shown.replace("|", "\\|") if in_table else shown


def fenced(text: str, language: str = "text") -> str:
    """Lines as they are, in a fence that none of them can close."""
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}\n"


def _escaped(text: str) -> str:
    """What means something is escaped; nobody is notified, and no issue linked, because of a name in a program."""
    return _SPECIAL.sub(r"\\\g<0>", _PINGS.sub("\\1\u200b", text))


def _longest_run(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
