"""Where files are kept: beside the journal, or on the file system that they lie on, where they can have two names."""

from __future__ import annotations

import errno
import itertools
import os
import shutil
import stat
from contextlib import suppress
from pathlib import Path

from autograd_doctor import system
from autograd_doctor.keeping.journal import Facts, Journal, Stash

LARGEST_COPY = 2 << 30
_CHECKED = 8 << 20


class Stashes:
    """One folder for each file system on which something is kept."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._folders: dict[int, str | None] = {}
        self._number = itertools.count()

    def place(self, now: os.stat_result, path: str) -> str | None:
        """A new name on the file system of a file; None if there is none."""
        if now.st_dev not in self._folders:
            self._folders[now.st_dev] = self._folder_for(now.st_dev, path)
        folder = self._folders[now.st_dev]
        return self._next(folder) if folder else None

    def anywhere(self) -> str:
        """A new name for a copy, beside the journal."""
        return self._next(self._first())

    def other(self, path: str, now: os.stat_result, empty: bool) -> str:
        """A file to take the place of another: empty or a copy, and otherwise like it."""
        other = self.place(now, path)
        if other is None:
            raise OSError(errno.EXDEV, "there is no room for another file")
        if empty:
            os.close(os.open(other, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        else:
            copied(path, other, now.st_size)
        with suppress(OSError):
            system.give(other, now.st_uid, now.st_gid)
        shutil.copystat(path, other)
        return other

    def _next(self, folder: str) -> str:
        return os.path.join(folder, f"{os.getpid()}-{next(self._number)}")

    def _first(self) -> str:
        folder = str(self._journal.stash)
        if not os.path.isdir(folder):
            os.mkdir(folder, 0o700)
            self._journal.add(Stash(folder))
        return folder

    def _folder_for(self, device: int, path: str) -> str | None:
        """In our own folder if that is on the same device, otherwise as far above the file as we may write."""
        if os.lstat(self._journal.path.parent).st_dev == device:
            return self._first()
        for above in reversed(Path(path).parents):
            facts = os.lstat(above)
            if facts.st_dev == device and os.access(above, os.W_OK | os.X_OK):
                folder = above / f".{self._journal.path.parent.parent.name}"
                if not folder.is_dir():
                    mode = stat.S_IMODE(facts.st_mode)
                    times = (facts.st_atime_ns, facts.st_mtime_ns)
                    stated = Facts(str(above), True, mode, facts.st_uid, facts.st_gid, *times)
                    self._journal.add(stated, Stash(str(folder)))
                    folder.mkdir(0o700)
                return str(folder)
        return None


def copied(path: str, copy: str, size: int) -> None:
    """Copy a file, by cloning it where the file system can. Raises `OSError` if that would take too much."""
    source = os.open(path, os.O_RDONLY | system.BINARY)
    try:
        target = os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | system.BINARY, 0o600)
        try:
            if system.is_cloned(target, source):
                return
            if size > LARGEST_COPY:
                raise OSError(errno.EFBIG, f"at {size >> 30} GB it is too large to be copied")
            if size > _CHECKED and shutil.disk_usage(os.path.dirname(copy)).free < 2 * size:
                raise OSError(errno.ENOSPC, "there is too little room for a copy")
            while data := os.read(source, 1 << 20):
                while data:
                    data = data[os.write(target, data) :]
        except OSError:
            os.unlink(copy)
            raise
        finally:
            os.close(target)
    finally:
        os.close(source)
