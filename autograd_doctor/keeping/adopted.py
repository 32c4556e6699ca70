"""Processes that outlive whoever started them: during a check they become children of this process, as of a subreaper.

No mark is needed to find them: a program may clean the environment of what it starts, and give it a session of its own.
Source: prctl(2), PR_SET_CHILD_SUBREAPER. Where the system has none, nothing is adopted.
"""

from __future__ import annotations

import ctypes
import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple, Self

from autograd_doctor.keeping.processes import PROCESSES, stats

_PR_SET_CHILD_SUBREAPER = 36
_PR_GET_CHILD_SUBREAPER = 37
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
        self._did_before = _is_subreaper()
        self._before = {child.number for child in _children()}
        _be_subreaper(True)
        return self

    def __exit__(self, *_: object) -> None:
        _be_subreaper(self._did_before)

    def end(self) -> None:
        """Kill them, and again those that they leave behind."""
        for _ in range(_ROUNDS):
            found = [child.number for child in _children() if self._is_adopted(child)]
            for number in found:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(number, signal.SIGKILL)
                with suppress(ChildProcessError):
                    os.waitpid(number, os.WNOHANG)
            if not found:
                return
            time.sleep(_PAUSE)

    def _is_adopted(self, child: _Process) -> bool:
        known = child.number in self._before or child.number in our_processes
        return not known and child.session != os.getsid(0)


def _children() -> Iterator[_Process]:
    if PROCESSES.is_dir():
        for number, (_state, parent, _group, session, *_) in stats():
            if int(parent) == os.getpid():
                yield _Process(number, int(session))


def _is_subreaper() -> bool:
    answer = ctypes.c_int()
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(answer))
    return bool(answer.value)


def _be_subreaper(whether: bool) -> None:
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, ctypes.c_ulong(whether), 0, 0, 0)
