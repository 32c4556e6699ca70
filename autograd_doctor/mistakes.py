"""What a person can get wrong before anything runs, said in one clear line."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class Mistake(Exception):
    """A mistake in the command line, the settings or the target: shown as one line, exit code 2.

    `detail` holds further lines worth showing below it, such as the source line of a syntax error.
    """

    def __init__(self, message: str, detail: str = "") -> None:
        super().__init__(message)
        self.detail = detail


def nearest(name: str, names: Iterable[str]) -> str:
    """A question that ends the line: "; did you mean `steps`?", or nothing if no name is close."""
    by_lower = {known.lower(): known for known in names}
    close = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.6)
    return f"; did you mean `{by_lower[close[0]]}`?" if close else ""
