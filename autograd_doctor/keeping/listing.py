"""What lies in a folder, before and after: it tells of changes that nobody heard of, such as those of native code."""

from __future__ import annotations

import os
import stat
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

from autograd_doctor.keeping.claims import TURNS
from autograd_doctor.keeping.processes import open_for_writing
from autograd_doctor.keeping.workspace import is_of_a_check

_MOST_FILES = 20_000
_LONGEST = 1.0
_PASSED_OVER = {"__pycache__", ".git", ".hg", ".cache", ".venv", "node_modules", ".mypy_cache", ".ruff_cache"}
_PASSED_OVER |= {".pytest_cache", ".hypothesis", ".ipynb_checkpoints"}

_ENVIRONMENT = "pyvenv.cfg"
"""What a virtual environment is known by: tens of thousands of files that no training writes to."""


class _Entry(NamedTuple):
    is_folder: bool
    size: int = 0
    modified: int = 0


class Listing:
    """The folders that were looked at whole, outermost first, as far as their number and the time allow."""

    def __init__(self, folders: Iterable[str], *, besides: str) -> None:
        self._besides = os.path.realpath(besides)
        self._output = _output()
        self._folders: dict[str, dict[str, _Entry]] = {}
        until = time.monotonic() + _LONGEST
        waiting = deque(dict.fromkeys(os.path.realpath(folder) for folder in folders))
        files = 0
        while waiting and files < _MOST_FILES and time.monotonic() < until:
            folder = waiting.popleft()
            if folder in self._folders:
                continue
            self._folders[folder] = entries = dict(self._entries(folder))
            files += len(entries)
            if _ENVIRONMENT not in entries:
                waiting.extend(os.path.join(folder, name) for name, entry in entries.items() if entry.is_folder)

        self.is_whole = not waiting
        """Whether nothing was left out."""

    def changes(self) -> list[str]:
        """The paths in these folders that are no longer as they were: new, gone, or changed.

        Asked when all processes of the program are gone: what is open for writing then is another's (`| tee log`).
        """
        changed = sorted(path for folder in self._folders for path in self._changes_in(folder))
        held = set(open_for_writing()) if changed else set()
        return [path for path in changed if _file(path) not in held]

    def _changes_in(self, folder: str) -> Iterator[str]:
        before, now = self._folders[folder], dict(self._entries(folder))
        for name in before.keys() | now.keys():
            if before.get(name) != now.get(name):
                yield os.path.join(folder, name)

    def _entries(self, folder: str) -> Iterator[tuple[str, _Entry]]:
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if not self._is_passed_over(entry):
                        yield entry.name, _described(entry)
        except OSError:  # it is gone, or not for us to read
            return

    def _is_passed_over(self, entry: os.DirEntry[str]) -> bool:
        is_ours = entry.path == self._besides or entry.name == TURNS or is_of_a_check(entry.path)
        return is_ours or entry.name in _PASSED_OVER or entry.inode() in self._output


def _file(path: str) -> tuple[int, int] | None:
    with suppress(OSError):
        facts = os.lstat(path)
        return facts.st_dev, facts.st_ino
    return None


def _output() -> set[int]:
    """The files that standard output and error go to (`> log.txt`) change in any case."""
    found = set()
    for descriptor in (1, 2):
        with suppress(OSError):
            found.add(os.fstat(descriptor).st_ino)
    return found


def _described(entry: os.DirEntry[str]) -> _Entry:
    try:
        facts = entry.stat(follow_symlinks=False)
    except OSError:
        return _Entry(False)
    if stat.S_ISDIR(facts.st_mode):
        return _Entry(True)
    return _Entry(False, facts.st_size, facts.st_mtime_ns)
