"""The journal of a polite run: what was there before the program changed it, one line for each fact.

It is written by the child and the processes that it forks, which take turns, and read by whoever is alive afterwards.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from autograd_doctor import system
from autograd_doctor.clock import CLOCK

_JOURNAL = "journal"
_LOCK = "turns"
_STASH = "kept"
_LONGEST_TURN = 30.0
"""A process that has been stopped in its turn must not hold up all others for ever."""
_BETWEEN_TRIES = 0.0005


class State(Struct, frozen=True):
    """By which a file is known again: what somebody else writes differs in one of these. All 0: nothing is there."""

    device: int = 0
    inode: int = 0
    size: int = 0
    modified: int = 0

    @staticmethod
    def of(now: os.stat_result | None) -> State:
        """Of folders only which one it is: others may put things into it."""
        if now is None:
            return State()
        if stat.S_ISDIR(now.st_mode):
            return State(now.st_dev, now.st_ino)
        return State(now.st_dev, now.st_ino, now.st_size, now.st_mtime_ns)


class Absent(Struct, frozen=True, tag=True):
    """Nothing was there before the program."""

    path: str


class Facts(Struct, frozen=True, tag=True):
    """What the system says of a file or folder besides its content."""

    path: str
    folder: bool
    mode: int
    owner: int
    group: int
    accessed: int
    modified: int


class Attribute(Struct, frozen=True, tag=True):
    """An extended attribute of a file; without a value it had none of that name."""

    path: str
    name: str
    value: bytes | None


class Kept(Struct, frozen=True, tag=True):
    """What was at `path` is at `stash`: the file itself under a second name, or a copy of it.

    state, changed: the file at `path` when it was kept. A second record for a path tells of a file that somebody else
    has put there meanwhile.
    """

    path: str
    stash: str
    how: Literal["linked", "copied"]
    state: State
    changed: int


class Link(Struct, frozen=True, tag=True):
    """A symbolic link."""

    path: str
    target: str


class InHand(Struct, frozen=True, tag=True):
    """A process of the program is about to change what is at the path."""

    path: str
    process: int


class Left(Struct, frozen=True, tag=True):
    """How that process has left it."""

    path: str
    process: int
    state: State


class PuttingBack(Struct, frozen=True, tag=True):
    """Since a time, in nanoseconds, the content of the file is being overwritten by what was kept."""

    path: str
    at: int


class Temporary(Struct, frozen=True, tag=True):
    """The program asked for a temporary file or folder."""

    path: str


class ReadBack(Struct, frozen=True, tag=True):
    """The program read what it had written."""

    path: str


class Began(Struct, frozen=True, tag=True):
    """Training began, at this time in nanoseconds."""

    at: int
    path: str = ""


class Claimed(Struct, frozen=True, tag=True):
    """Other checks leave the path alone until all is put back; also, where it is a folder that is new or goes, what
    lies `below` it."""

    path: str
    below: bool


class Stash(Struct, frozen=True, tag=True):
    """A folder that was made for what is kept."""

    path: str


Record = (
    Absent
    | Facts
    | Attribute
    | Kept
    | Link
    | InHand
    | Left
    | PuttingBack
    | Temporary
    | ReadBack
    | Began
    | Claimed
    | Stash
)
APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT | system.BINARY


class Journal:
    """The journal in a scratch folder. A line is one write to the end of the file.

    Files are opened each time: a program may close every descriptor. Names need not be text: JSON escapes what is none.
    """

    names = (_JOURNAL, _LOCK, _STASH)
    """All that lies in the scratch folder for its sake."""

    def __init__(self, scratch: Path) -> None:
        folder = scratch.absolute()
        self.path = folder / _JOURNAL
        self.stash = folder / _STASH
        self._lock = folder / _LOCK
        self._read = 0

    @contextmanager
    def turn(self) -> Iterator[None]:
        """No other process of the program keeps anything meanwhile. Whoever adds must have taken all news.

        The lock is of the process: it ends with it, and one that is forked meanwhile does not hold it as well. Threads
        of a process have to take turns by themselves. Raises `TimeoutError` where another process keeps it for long.
        """
        lock = os.open(self._lock, APPEND, 0o600)
        try:
            wait_for(lock)
            yield
        finally:
            os.close(lock)

    def beat(self) -> None:
        """Say that the program is alive, for those who come after it."""
        os.utime(self._lock)

    def last_sign(self) -> int:
        """When the program was alive last, as far as is known, in nanoseconds."""
        found = [path.stat().st_mtime_ns for path in (self.path, self._lock) if path.exists()]
        return max(found, default=0)

    def add(self, *records: Record) -> None:
        """Raises `OSError` if it cannot be written, so that nothing is changed that is not kept. It is no news."""
        lines = (json.dumps(msgspec.to_builtins(record)).encode() + b"\n" for record in records)
        # What a full disk has cut off before must not spoil the first of these lines.
        data = b"\n" + b"".join(lines)
        size = len(data)
        descriptor = os.open(self.path, APPEND, 0o600)
        try:
            while data:
                data = data[os.write(descriptor, data) :]
        finally:
            os.close(descriptor)
        self._read += size

    def news(self) -> list[Record]:
        """What was written since the last call. What a kill has cut in two is passed over."""
        try:
            if os.stat(self.path).st_size <= self._read:
                return []
            with open(self.path, "rb") as file:
                file.seek(self._read)
                whole, _, _ = file.read().rpartition(b"\n")
        except FileNotFoundError:
            return []
        self._read += len(whole) + 1 if whole else 0
        return list(_records(whole))

    def is_open(self) -> bool:
        """Whether there is something to put back."""
        return self.path.exists()

    def close(self) -> None:
        """All is as it was."""
        self.path.unlink(missing_ok=True)


def wait_for(lock: int) -> None:
    """Have the lock of an open file. Raises `TimeoutError` where another process keeps it for long."""
    until = CLOCK.monotonic() + _LONGEST_TURN
    while not system.take_turn(lock):
        if CLOCK.monotonic() > until:
            raise TimeoutError(errno.ETIMEDOUT, f"another process has been saving files for {_LONGEST_TURN:.0f} s")
        CLOCK.sleep(_BETWEEN_TRIES)


def _records(lines: bytes) -> Iterator[Record]:
    for line in lines.split(b"\n"):
        try:
            yield msgspec.convert(json.loads(line), Record)
        except ValueError:
            continue
