"""Text of the user's that may go to a terminal: nothing in it can move the cursor or upset the columns."""

from __future__ import annotations

import unicodedata
from functools import cache

from rich.cells import cell_len

TAB = 4
_ASCII = {
    "…": "...",
    "×": "x",
    "·": "-",
    "–": "-",
    "—": "-",
    "−": "-",
    "‖": "||",
    "±": "+-",
    "≤": "<=",
    "≥": ">=",
    "≠": "!=",
    "≈": "~",
    "→": "->",
    "‘": "'",
    "’": "'",
    "“": '"',
    "”": '"',
    "µ": "u",
    "\u00a0": " ",
}
_REORDERING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def printable(text: str, *, unicode: bool) -> str:
    """Prose: newlines stay, tabs become spaces, what cannot be shown becomes a replacement character."""
    plain = "".join(_shown(character, unicode) for character in text.replace("\r\n", "\n"))
    return plain.replace("\t", " " * TAB)


def one_line(text: str) -> str:
    """Prose for formats of one line per finding: line ends and runs of spaces become one space."""
    return " ".join(printable(text, unicode=True).split())


def code_line(text: str, *, unicode: bool) -> tuple[str, list[int]]:
    """A line of source with tabs expanded, and the position in it of each character of the original, and of its end."""
    positions, result = [], ""
    for character in text:
        positions.append(len(result))
        if character == "\t":
            result += " " * (TAB - cell_len(result) % TAB)
        else:
            result += _narrow(character) if not unicode else _shown(character, unicode)
    return result, [*positions, len(result)]


def _narrow(character: str) -> str:
    """ASCII that takes as many cells as the character, so that carets still point at it."""
    return character if " " <= character <= "~" else "?" * max(1, cell_len(character))


@cache
def _shown(character: str, unicode: bool) -> str:
    if " " <= character <= "~" or character in "\n\t":
        return character
    category = unicodedata.category(character)
    hidden = category in ("Cc", "Cs", "Cn", "Co", "Zl", "Zp") or character in _REORDERING
    if unicode:
        return "\ufffd" if hidden else character
    return "?" if hidden else _ASCII.get(character, "?" * max(1, cell_len(character)))
