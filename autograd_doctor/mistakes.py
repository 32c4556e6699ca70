"""What a person can get wrong before anything runs, said in one clear line."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path


class Mistake(Exception):
    """A mistake in the command line, the settings or the target: shown as one line, exit code 2.

    `detail` holds further lines worth showing below it, such as the source line of a syntax error. What the person
    wrote is quoted in the message, so line ends and control characters are escaped.
    """

    def __init__(self, message: str, detail: str = "") -> None:
        super().__init__("".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in message))
        self.detail = detail


def nearest(name: str, names: Iterable[str]) -> str:
    """A question that ends the line: "; did you mean `steps`?", or nothing if no name is close."""
    wrong = name.lower()
    by_lower = {known.lower(): known for known in names}
    close = difflib.get_close_matches(wrong, by_lower, n=len(by_lower) or 1)
    best = min(close, key=lambda known: _distance(wrong, known), default=None)
    return f"; did you mean `{by_lower[best]}`?" if best else ""


def nearest_file(path: Path) -> str:
    """The same for a file that is not there, of those in its folder."""
    folder = path.parent
    return nearest(path.name, [entry.name for entry in folder.iterdir() if entry.is_file()] if folder.is_dir() else [])


def _distance(wrong: str, known: str) -> tuple[float, int, str]:
    """Codes are all alike to `difflib`: among equals, the name with most letters in their places is nearest."""
    in_place = sum(one == other for one, other in zip(wrong, known, strict=False))
    return -difflib.SequenceMatcher(None, wrong, known).ratio(), -in_place, known
