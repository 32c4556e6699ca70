"""What a journal comes to: for each path what was there, what is kept of it, and how the program left it."""

from __future__ import annotations

import os
import stat
from collections.abc import Container, Iterable
from pathlib import Path

from autograd_doctor.keeping.journal import (
    Absent,
    Attribute,
    Began,
    Claimed,
    Facts,
    InHand,
    Kept,
    Left,
    Link,
    PuttingBack,
    ReadBack,
    Record,
    Stash,
    State,
    Temporary,
)

_OVERWRITING = 60_000_000_000
NOBODY: frozenset[tuple[int, int]] = frozenset()


class Book:
    """Records in their order. The first of a path tells of the time before the program."""

    def __init__(self, records: Iterable[Record] = ()) -> None:
        self.absent: set[str] = set()
        self.facts: dict[str, Facts] = {}
        self.kept: dict[str, list[Kept]] = {}
        self.links: dict[str, Link] = {}
        self.hands: dict[str, set[int]] = {}
        self._left: set[State] = set()
        self._putting_back: dict[str, int] = {}
        self.temporary: set[str] = set()
        self.read_back: set[str] = set()
        self.stashes: list[str] = []
        self.began: int | None = None
        self.claimed: dict[str, bool] = {}
        self.attributes: dict[str, dict[str, bytes | None]] = {}
        self._stashed: set[tuple[int, int]] = set()
        self._copied: dict[tuple[int, int], Kept] = {}
        self.take(records)

    def take(self, records: Iterable[Record]) -> None:
        """Go on with what was written since."""
        for record in records:
            self._take(record)

    def _take(self, record: Record) -> None:
        path = record.path
        match record:
            case Absent():
                if not self.holds(path):
                    self.absent.add(path)
            case Facts():
                if path not in self.absent:
                    self.facts.setdefault(path, record)
            case Attribute():
                if path not in self.absent:
                    self.attributes.setdefault(path, {}).setdefault(record.name, record.value)
            case Kept():
                self.kept.setdefault(path, []).append(record)
                file = (record.state.device, record.state.inode)
                if record.how == "linked":
                    self._stashed.add(file)
                else:
                    self._copied.setdefault(file, record)
            case Link():
                if not self.holds(path):
                    self.links[path] = record
            case InHand():
                self.hands.setdefault(path, set()).add(record.process)
            case Left():
                self.hands.get(path, set()).discard(record.process)
                self._left.add(record.state)
            case PuttingBack():
                self._putting_back[path] = record.at
            case Temporary():
                self.temporary.add(path)
            case ReadBack():
                self.read_back.add(path)
            case Began():
                self.began = record.at
            case Claimed():
                self.claimed[path] = record.below or self.claimed.get(path, False)
            case Stash():
                if path not in self.stashes:
                    self.stashes.append(path)

    def holds(self, path: str) -> bool:
        """Whether it is known what was there before the program, with its content."""
        return path in self.absent or path in self.kept or path in self.links

    def is_stashed(self, now: os.stat_result) -> bool:
        """Whether the file has another name among what is kept, so that this one may go."""
        return (now.st_dev, now.st_ino) in self._stashed

    def copy_of(self, now: os.stat_result) -> Kept | None:
        """What is kept of a file that is changed in place, perhaps under another of its names."""
        return self._copied.get((now.st_dev, now.st_ino))

    def is_touched(self, path: str) -> bool:
        """Whether the program has changed what is at the path, or tried to."""
        return path in self.hands

    def is_ours(
        self, path: str, now: os.stat_result, ended: float = float("inf"), writers: Container[tuple[int, int]] = NOBODY
    ) -> bool:
        """Whether the program left it like that.

        What it had in hand when it ended, at a time in nanoseconds, counts as its own unless it was written later.
        What a process that is still there has open for writing does not.
        """
        if now.st_mtime_ns <= self._putting_back.get(path, 0) + _OVERWRITING:
            return True
        if (now.st_dev, now.st_ino) in writers:
            return False
        if self.is_stashed(now) or State.of(now) in self._left:
            return True
        return self._is_in_hand(path, now) and (stat.S_ISDIR(now.st_mode) or now.st_mtime_ns <= ended)

    def _is_in_hand(self, path: str, now: os.stat_result) -> bool:
        if now.st_nlink < 2 or self.hands.get(path):
            return bool(self.hands.get(path))
        # What is written under one name is there under the others.
        held = [name for name, processes in self.hands.items() if processes and os.path.lexists(name)]
        return any(os.path.samestat(now, os.lstat(name)) for name in held)

    def has_claimed(self, path: str, *, with_all_below: bool = False) -> bool:
        """Whether other checks leave a path alone, by itself or with a folder in which it lies."""
        if any(self.claimed.get(str(folder)) for folder in Path(path).parents):
            return True
        return path in self.claimed and (self.claimed[path] or not with_all_below)

    def is_preparation(self, path: str, now: os.stat_result) -> bool:
        """Whether it is a new file, as it was when training began, and not one that the program calls temporary."""
        is_before = self.began is None or now.st_ctime_ns <= self.began
        return path in self.absent and is_before and not self._is_temporary(path)

    def _is_temporary(self, path: str) -> bool:
        return any(is_in(path, folder) for folder in self.temporary)


def is_in(path: str, folder: str) -> bool:
    """Whether a path is a folder, or lies in it."""
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")
