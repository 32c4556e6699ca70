"""After a run: every file and folder as the journal says that it was, and what is new removed.

Only what the program itself left at a path is ever removed or replaced. What somebody else has put there stays; then
what was there before is laid beside it.
"""

from __future__ import annotations

import os
import shutil
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from autograd_doctor import system
from autograd_doctor.keeping.book import Book
from autograd_doctor.keeping.journal import Journal, Kept, PuttingBack, State
from autograd_doctor.keeping.processes import open_for_writing

_BESIDE = "before-check"


class PutBack(NamedTuple):
    """What was done: new paths `removed`, changed ones `restored`. What it `prepared`, and others `wrote`, stays.

    beside: where it lies what was at a path before others wrote there. failed: what could not be done, and why.
    """

    removed: list[str]
    restored: list[str]
    prepared: list[str]
    wrote: list[str]
    beside: dict[str, str]
    failed: dict[str, str]

    @property
    def known(self) -> set[str]:
        """All paths of which it is said why they are not as before."""
        return {*self.prepared, *self.wrote, *self.beside.values(), *self.failed}


def put_back(scratch: Path, ended: int | None = None) -> PutBack:
    """Undo what the journal of a scratch folder tells of. May be called again at any time, also if it was cut off.

    ended: when the last process of the program was gone, in nanoseconds; None is now. What is written later is not the
    program's. The journal, and what was kept, go only once everything is as it was.
    """
    journal = Journal(scratch)
    work = _Work(journal, time.time_ns() if ended is None else ended)
    if journal.is_open():
        work.do()
        if not work.done.failed:
            for folder in work.book.stashes:
                shutil.rmtree(folder, ignore_errors=True)
            work.folders()
            journal.close()
    return work.done


class _Work:
    def __init__(self, journal: Journal, ended: int) -> None:
        self.done = PutBack([], [], [], [], {}, {})
        self.book = Book(journal.news())
        self._journal = journal
        self._scratch = journal.path.parent
        self._open_up()
        paths = {*self.book.absent, *self.book.kept, *self.book.links, *self.book.facts}
        writers = set(open_for_writing()) if paths else set()
        now = {path: facts for path in paths if (facts := _lstat(path)) is not None}
        self._ours = {path: State.of(now[path]) for path in now if self.book.is_ours(path, now[path], ended, writers)}

    def _open_up(self) -> None:
        """Folders that the program has closed even for us. Their modes are put back last."""
        needed = os.R_OK | os.W_OK | os.X_OK
        for path in sorted({*self.book.absent, *self.book.facts}):
            if os.path.isdir(path) and not os.path.islink(path) and not os.access(path, needed):
                with suppress(OSError):
                    os.chmod(path, 0o700)

    def do(self) -> None:
        self.done.prepared.extend(self._prepared())
        book = self.book
        for path in sorted(book.absent - set(self.done.prepared), reverse=True):
            if path not in book.kept:
                self._try(path, self._remove_new)
        for path in sorted(path for path, facts in book.facts.items() if facts.folder):
            self._try(path, self._folder)
        for path in book.links:
            self._try(path, self._link)
        for path in book.kept:
            self._try(path, self._content)
        for path, facts in book.facts.items():
            if not facts.folder and path not in self.done.wrote and path not in self.done.failed:
                self._try(path, self._restate_file)
        for path in book.attributes:
            if path not in self.done.wrote and path not in self.done.failed:
                self._try(path, self._attributes)
        self.folders()

    def folders(self) -> None:
        """Modes and times of folders come last, the innermost first: every change inside moves them."""
        for path in sorted((path for path, facts in self.book.facts.items() if facts.folder), reverse=True):
            self._try(path, self._restate)

    def _try(self, path: str, step: Callable[[str], None]) -> None:
        try:
            above = os.path.dirname(path)
            if os.path.realpath(above) != above:
                raise OSError("its folder was replaced by a link")
            step(path)
        except Exception as error:
            why = error.strerror if isinstance(error, OSError) else None
            self.done.failed.setdefault(path, why or str(error) or type(error).__name__)

    def _is_ours(self, path: str, now: os.stat_result) -> bool:
        """Asked before anything was put back: one name of a file may tell of another."""
        return self._ours.get(path) == State.of(now)

    def _prepared(self) -> list[str]:
        """The files that the program made for itself to train on: all or none, as they are whole only together.

        They are known by one of them being read back.
        """
        found = set()
        for path in self.book.absent:
            now = _lstat(path)
            if now is not None and not stat.S_ISDIR(now.st_mode) and self.book.is_preparation(path, now):
                found.add(path)
        return sorted(found) if self.book.began is not None and found & self.book.read_back else []

    def _remove_new(self, path: str) -> None:
        now = _lstat(path)
        if now is None:
            return
        if not self._is_ours(path, now):
            self._leave(path)
        elif self._clear(path, now):
            self.done.removed.append(path)

    def _leave(self, path: str) -> None:
        """Somebody else has put it there. Raises `OSError` if that was another check, which will put it back itself."""
        if path in self._others:
            raise OSError("another check has changed it in the meantime; it is restored when that check ends")
        self.done.wrote.append(path)

    @cached_property
    def _others(self) -> set[str]:
        """The paths that other checks have changed and not yet put back."""
        found: set[str] = set()
        for file in self._scratch.parent.parent.glob(f"*/{self._scratch.name}/{self._journal.path.name}"):
            with suppress(OSError):
                if not file.parent.samefile(self._scratch):
                    book = Book(Journal(file.parent).news())
                    found |= {*book.absent, *book.kept, *book.links}
        return found

    def _clear(self, path: str, now: os.stat_result) -> bool:
        """Remove what the program left there; False if others have put something into it, which stays."""
        if not stat.S_ISDIR(now.st_mode):
            os.unlink(path)
            return True
        for entry in list(os.scandir(path)):
            inner = entry.stat(follow_symlinks=False)
            if stat.S_ISDIR(inner.st_mode):
                # A folder from before that was renamed: the program knows of it by no event of its own.
                self._clear(entry.path, inner)
            elif self.book.is_stashed(inner) or self._is_link_from_before(entry):
                os.unlink(entry.path)
            elif entry.path not in self.done.prepared and entry.path not in self.done.wrote:
                self.done.wrote.append(entry.path)
        with suppress(OSError):
            os.rmdir(path)
        return not os.path.lexists(path)

    def _is_link_from_before(self, entry: os.DirEntry[str]) -> bool:
        return entry.is_symlink() and any(link.target == os.readlink(entry.path) for link in self.book.links.values())

    def _make_room(self, path: str) -> None:
        """Raises `OSError` if what is at the path is not the program's."""
        now = _lstat(path)
        if now is not None and not (self._is_ours(path, now) and self._clear(path, now)):
            raise OSError("something else was written there in the meantime")

    def _folder(self, path: str) -> None:
        now = _lstat(path)
        if now is None or not stat.S_ISDIR(now.st_mode):
            self._make_room(path)
            os.makedirs(path)
            self.done.restored.append(path)

    def _link(self, path: str) -> None:
        now = _lstat(path)
        if now is not None and stat.S_ISLNK(now.st_mode) and os.readlink(path) == self.book.links[path].target:
            return
        self._make_room(path)
        os.symlink(self.book.links[path].target, path)
        self.done.restored.append(path)

    def _content(self, path: str) -> None:
        """Of several that were there, the last goes back; it is the last that was not the program's."""
        versions = [kept for kept in self.book.kept[path] if os.path.lexists(kept.stash)]
        now = _lstat(path)
        if not versions:  # put back already
            return
        if now is not None and any(_is_untouched(kept, now) for kept in versions):
            versions = [kept for kept in versions if not _is_untouched(kept, now)]
        elif now is None or self._is_ours(path, now):
            self._restore(versions.pop(), now)
            self.done.restored.append(path)
        else:
            self._leave(path)
        for kept in versions:
            self._lay_beside(kept)

    def _restore(self, kept: Kept, now: os.stat_result | None) -> None:
        path = kept.path
        if (
            kept.how == "copied"
            and now is not None
            and (now.st_dev, now.st_ino) == (kept.state.device, kept.state.inode)
        ):
            self._journal.add(PuttingBack(path, time.time_ns()))
            _overwrite(path, kept.stash)
            return
        if now is not None and stat.S_ISDIR(now.st_mode):
            self._make_room(path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        _moved(kept.stash, path)

    def _lay_beside(self, kept: Kept) -> None:
        """Under a new name in the same folder, where it is found."""
        number = 1
        while os.path.lexists(name := f"{kept.path}.{_BESIDE}-{number}"):
            number += 1
        _moved(kept.stash, name)
        self.done.beside[kept.path] = name

    def _attributes(self, path: str) -> None:
        now = _lstat(path)
        if now is None or stat.S_ISLNK(now.st_mode):
            return
        there = os.listxattr(path)
        for name, value in self.book.attributes[path].items():
            if value is not None:
                os.setxattr(path, name, value)
            elif name in there:
                os.removexattr(path, name)

    def _restate_file(self, path: str) -> None:
        now = _lstat(path)
        if now is not None and (path in self.book.kept or self._is_ours(path, now)):
            self._restate(path)

    def _restate(self, path: str) -> None:
        facts, now = self.book.facts[path], _lstat(path)
        if now is None or stat.S_ISLNK(now.st_mode) or stat.S_ISDIR(now.st_mode) != facts.folder:
            return
        # What belongs to somebody else, such as the system's temporary folder, is not for us to set.
        with suppress(PermissionError):
            if (now.st_uid, now.st_gid) != (facts.owner, facts.group):
                system.give(path, facts.owner, facts.group)
        with suppress(PermissionError):
            if stat.S_IMODE(os.stat(path).st_mode) != facts.mode:
                os.chmod(path, facts.mode)
            if (now.st_atime_ns, now.st_mtime_ns) != (facts.accessed, facts.modified):
                os.utime(path, ns=(facts.accessed, facts.modified))


def _is_untouched(kept: Kept, now: os.stat_result) -> bool:
    """Whether what is there is what was kept."""
    if kept.how == "copied":
        return kept.state == State.of(now) and kept.changed == now.st_ctime_ns
    return os.path.samestat(now, os.lstat(kept.stash))


def _overwrite(path: str, source: str) -> None:
    """The same file with its old content: other names of it see that, too."""
    with suppress(PermissionError):
        os.chmod(path, 0o600)
    with open(source, "rb") as before, open(path, "r+b") as file:
        shutil.copyfileobj(before, file, 1 << 20)
        file.truncate()
    os.unlink(source)


def _moved(source: str, target: str) -> None:
    """At no time is there less than one whole file. From another file system it is copied first."""
    if os.lstat(source).st_dev == os.lstat(os.path.dirname(target)).st_dev:
        os.replace(source, target)
        return
    arriving = f"{target}.{_BESIDE}"
    shutil.copy2(source, arriving, follow_symlinks=False)
    os.replace(arriving, target)
    os.unlink(source)


def _lstat(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return None
