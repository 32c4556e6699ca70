"""Prose as SARIF takes it."""

from __future__ import annotations

import re

from autograd_doctor.renderers.printable import printable

_LINK = re.compile(r"[\[\]](?=[^\[\]]*\]\()|\](?=\()")


def plain(text: str) -> str:
    """A message without control characters, in which no words of a program's become a link; never empty."""
    return _LINK.sub(lambda bracket: f"\\{bracket[0]}", printable(text, unicode=True)) or "(no message)"
