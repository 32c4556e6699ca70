"""What the system says of processes and threads, if it does."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from autograd_doctor.system import PROCESSES


def stats(folder: Path = PROCESSES) -> Iterator[tuple[int, list[str]]]:
    """Every process, or thread of one, with what `stat` says of it from its state on: proc(5)."""
    for entry in os.listdir(folder):
        if entry.isdigit():
            try:
                text = (folder / entry / "stat").read_text(errors="replace")
            except OSError:  # gone since it was listed
                continue
            yield int(entry), text.rpartition(")")[2].split()


def open_for_writing() -> Iterator[tuple[int, int]]:
    """Device and inode of what other processes have open; nothing where the system does not show descriptors, and
    nothing of other people's processes."""
    for process in filter(str.isdigit, _names(PROCESSES)):
        if int(process) == os.getpid():
            continue
        for descriptor in _names(PROCESSES / process / "fd"):
            with suppress(OSError, StopIteration, ValueError, IndexError):
                with (PROCESSES / process / "fdinfo" / descriptor).open() as file:
                    flags = next(int(line.split()[1], 8) for line in file if line.startswith("flags:"))
                if flags & os.O_ACCMODE != os.O_RDONLY:
                    facts = os.stat(PROCESSES / process / "fd" / descriptor)
                    yield facts.st_dev, facts.st_ino


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []
