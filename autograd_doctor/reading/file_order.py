"""Files whose names differ by numbers: which is the last by name as text, and which is the newest."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

_NUMBERS = re.compile(r"\d+")
_FEWEST, _MOST = 3, 10_000
"""Files of a folder: of two, either may be the last by chance; a larger folder takes long to list."""


class PassedOver(NamedTuple):
    """newest: by its numbers and by when it was written. files: how many there are of that kind."""

    newest: str
    files: int


def passed_over(path: str) -> PassedOver | None:
    """The newest file of those that are named alike but for numbers, where the one at this path is not it, and is the
    last of them by name as text. Raises `OSError`."""
    folder, name = os.path.split(path)
    entries = os.listdir(folder)
    kind = _NUMBERS.sub("#", name)
    alike = [each for each in entries if _NUMBERS.sub("#", each) == kind] if len(entries) <= _MOST else []
    if len(alike) < _FEWEST or max(alike) != name:
        return None
    newest = max(alike, key=lambda each: [int(number) for number in _NUMBERS.findall(each)])
    written = {each: os.stat(os.path.join(folder, each)).st_mtime_ns for each in alike}
    is_newest = newest != name and written[newest] == max(written.values()) > written[name]
    return PassedOver(newest, len(alike)) if is_newest else None
