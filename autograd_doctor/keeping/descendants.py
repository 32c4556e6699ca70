"""Everything that a check has started, found by a mark in its environment, and ended."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

from autograd_doctor import system

MARK = "_AUTOGRAD_DOCTOR_RUN"
"""A variable of the child's environment, which every process that it starts inherits."""
_NOTE = "mark"
_ROUNDS = 50
_PAUSE = 0.02


def end_all(leader: int, mark: str) -> None:
    """Kill the session of the child, and all that left it. Again until nothing is found: processes start others."""
    system.signal_all(leader, system.KILL)
    _end_marked(mark)


def note_mark(scratch: Path, mark: str) -> None:
    """For `end_noted`, should nobody of this check be alive to end them."""
    (scratch / _NOTE).write_text(mark)


def end_noted(scratch: Path) -> None:
    """Kill what a check has started of which nobody else is alive. Its numbers may be those of others by now."""
    with suppress(FileNotFoundError):
        _end_marked((scratch / _NOTE).read_text())


def _end_marked(mark: str) -> None:
    for _ in range(_ROUNDS):
        found = _marked(mark)
        for process in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(process, system.KILL)
        if not found:
            return
        time.sleep(_PAUSE)


def _marked(mark: str) -> list[int]:
    """The living processes with a mark; none where the system does not show environments."""
    numbers = [int(entry) for entry in _listed(system.PROCESSES) if entry.isdigit()]
    return [number for number in numbers if number != os.getpid() and mark in marks_of(number)]


def marks_of(process: int) -> list[str]:
    """The mark of a process, if it has one."""
    sign = f"{MARK}="
    found = (os.fsdecode(each) for each in _environment(process))
    return [each.removeprefix(sign) for each in found if each.startswith(sign)]


def _listed(folder: Path) -> list[str]:
    with suppress(OSError):
        return os.listdir(folder)
    return []


def _environment(process: int) -> list[bytes]:
    """Those of others, and of processes that have ended, cannot be read or are empty."""
    with suppress(OSError):
        return (system.PROCESSES / str(process) / "environ").read_bytes().split(b"\0")
    return []
