"""Processes that outlive whoever started them: during a check they become children of this process, as of a subreaper.

No mark is needed to find them: a program may clean the environment of what it starts, and give it a session of its own.
Source: prctl(2), PR_SET_CHILD_SUBREAPER. Where the system has none, nothing is adopted.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple, Self

from autograd_doctor import system
from autograd_doctor.keeping.processes import stats
from autograd_doctor.system import PROCESSES

_ROUNDS = 50
_PAUSE = 0.02

our_processes: set[int] = set()
"""Children that this process has started for checks, of which several may be under way."""


class _Process(NamedTuple):
    number: int
    session: int


class Adopted:
    """As long as the context lasts, orphans come to this process. Children that it has had before are left alone.

    So are those of its own session, which it starts meanwhile: what a check starts leads a session of its own.
    """

    def __enter__(self) -> Self:
        self._did_before = system.is_subreaper()
        self._before = {child.number for child in _children()}
        system.be_subreaper(True)
        return self

    def __exit__(self, *_: object) -> None:
        system.be_subreaper(self._did_before)

    def end(self) -> None:
        """Kill them, and again those that they leave behind."""
        for _ in range(_ROUNDS):
            found = [child.number for child in _children() if self._is_adopted(child)]
            for number in found:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(number, system.KILL)
                with suppress(ChildProcessError):
                    os.waitpid(number, os.WNOHANG)
            if not found:
                return
            time.sleep(_PAUSE)

    def _is_adopted(self, child: _Process) -> bool:
        known = child.number in self._before or child.number in our_processes
        return not known and child.session != system.session_of(0)


def _children() -> Iterator[_Process]:
    if PROCESSES.is_dir():
        for number, (_state, parent, _group, session, *_) in stats():
            if int(parent) == os.getpid():
                yield _Process(number, int(session))
