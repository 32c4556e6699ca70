"""Keeps what is about to be changed: told of each change before it happens, it writes down what was there.

A file from before the program is never touched itself: it gets a second name, and where the program wants to write,
it finds an empty file, or a copy, under the first. Only what has several names, or is open already, is copied and then
changed in place. What cannot be kept may not be changed: the program is told so by an `OSError`.

After each change it is noted how the program left the file. What is different when it is met again is somebody else's,
and is kept as well.
"""

from __future__ import annotations

import errno
import getpass
import os
import re
import stat
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from autograd_doctor import system
from autograd_doctor.clock import CLOCK
from autograd_doctor.keeping.book import Book, is_in
from autograd_doctor.keeping.claims import Claims
from autograd_doctor.keeping.journal import (
    Absent,
    Attribute,
    Began,
    Claimed,
    Facts,
    InHand,
    Journal,
    Kept,
    Left,
    Link,
    ReadBack,
    Record,
    State,
    Temporary,
)
from autograd_doctor.recording import last_word
from autograd_doctor.runner.stashes import Stashes, copied

_SYSTEM = ("/dev/", "/proc/", "/sys/")
_IN_MEMORY = "/dev/shm/"
_CACHE_SETTINGS = (
    *("XDG_CACHE_HOME", "TORCH_HOME", "TORCH_EXTENSIONS_DIR", "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR"),
    *("HF_HOME", "HF_HUB_CACHE", "HF_DATASETS_CACHE", "MPLCONFIGDIR", "NUMBA_CACHE_DIR", "CUDA_CACHE_PATH"),
)
_CACHES = ("~/.cache", "~/.triton", "~/.nv", "~/.config/matplotlib")
_OPENING = 1.0
"""A thread that is about to open a file will have done so after so many seconds."""

_Keep = Callable[[str, os.stat_result], None]


class Refused(PermissionError):
    """The program may not change this: it could not be kept."""

    def __init__(self, path: str, error: Exception) -> None:
        why = (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
        said = f"autograd_doctor could not back up this file, so it may not be changed ({why}; see --no-polite)"
        super().__init__(errno.EPERM, said, path)


class Keeper:
    """Takes paths that lead to the thing itself: only the last part may be a link.

    `own` are the trace and other files and folders of ours, of which nothing is kept, nor of the trace's last word.
    Nothing here is for a process or thread of its own: forked processes go on with what they know, and write into the
    same journal.
    """

    def __init__(self, scratch: Path, own: Iterable[Path]) -> None:
        self._journal = Journal(scratch)
        self._book = Book()
        self._stashes = Stashes(self._journal)
        self._claims = Claims(scratch)
        self._own = tuple(os.path.realpath(path) for each in own for path in (each, last_word(each)))
        self._scratch = os.path.realpath(scratch)
        self._caches = tuple(_caches())
        self._in_hand: dict[str, dict[int, float]] = {}
        self._for_good: set[str] = set()
        self._mapped: set[tuple[int, int]] = set()
        self.made: set[str] = set()
        """The names of new files, until one of them was read back."""

    # ------------------------------------------------------------------------------------ what is about to happen

    def emptied(self, path: str) -> None:
        """The file will be opened and cut to nothing, or made."""
        self._change(path, lambda path, now: self._written(path, now, emptied=True))

    def changed(self, path: str) -> None:
        """The file will be written to, or made."""
        self._change(path, lambda path, now: self._written(path, now, emptied=False))

    def database(self, path: str) -> None:
        """A library will write to the file, and make and remove others beside it, as long as the process lives."""
        for name in (path, *(f"{path}-{end}" for end in ("journal", "wal", "shm"))):
            self.changed(name)
            self._for_good.add(name)

    def made_new(self, path: str) -> None:
        """A folder or link will be made, if nothing is there."""
        self._change(path, _nothing)

    def removed(self, path: str) -> None:
        """What is at the path will go. Of a folder with all that lies in it."""
        self._change(path, self._leave, goes=True)

    def folder_removed(self, path: str) -> None:
        """An empty folder will go."""
        self._change(path, self._leave_empty, goes=True)

    def renamed(self, source: str, target: str) -> None:
        """What is at one path will replace what is at the other."""
        if is_in(self._scratch, source):
            self._guard_own(self._scratch)
        with self._turn():
            known = [path for path in self._book.hands if path.startswith(f"{source}/")]
        self._change(source, self._leave, goes=True)
        self._change(target, self._leave)
        with self._turn():
            for path in known:
                self._take_in_hand(path)
                self._come(target + path.removeprefix(source))

    def linked_twice(self, source: str) -> None:
        """The file will get a second name, under which it may be written."""
        self._change(source, self._copy)

    def restated(self, path: str) -> None:
        """The mode, owner or times will change."""
        self._change(path, self._restate)

    def attributed(self, path: str, name: str) -> None:
        """An extended attribute will change, come or go."""
        self._change(path, lambda path, now: self._attribute(path, now, name))

    def mapped(self, descriptor: int) -> None:
        """The file is mapped into memory, and may be read or change there at any time."""
        facts = os.fstat(descriptor)
        self._mapped.add((facts.st_dev, facts.st_ino))

    def temporary(self, path: str) -> None:
        """The program asks for a temporary file or folder."""
        with self._turn():
            self._add(Temporary(path))

    def read(self, path: str) -> None:
        """The program reads a file. One that it made itself tells that it prepares what it trains on."""
        self.made.discard(os.path.basename(path))
        with self._turn():
            now = _lstat(path)
            if now is not None and path not in self._in_hand and self._book.is_preparation(path, now):
                self.made.clear()
                self._add(ReadBack(path))

    def training_began(self) -> None:
        """What is new and finished by now may be kept for the next run of the program."""
        with self._turn():
            self._add(Began(CLOCK.time_ns()))

    def forked(self) -> None:
        """This is a new process now."""
        self._in_hand = {}

    def settle(self) -> None:
        """Note how files were left that the program has had in hand, and has no longer; and what others have noted."""
        with self._turn():
            self._journal.beat()

    @contextmanager
    def _turn(self) -> Iterator[None]:
        with self._journal.turn():
            news = self._journal.news()
            self._book.take(news)
            self.made.update(os.path.basename(record.path) for record in news if isinstance(record, Absent))
            self._note_left()
            yield

    # -------------------------------------------------------------------------------------------- before each change

    def _change(self, path: str, keep: _Keep, *, goes: bool = False) -> None:
        """Keep what is at a path that will change, or will go, once no other check has it."""
        if not self._concerns(path, in_caches=goes):
            return
        while (other := self._try(path, keep, goes)) is not None:
            try:
                self._claims.wait(other, path)
            except OSError as error:
                raise Refused(path, error) from None

    def _try(self, path: str, keep: _Keep, goes: bool) -> Path | None:
        """The other check that has the path, if there is one; else it is kept."""
        try:
            with self._turn():
                now = _lstat(path)
                other = self._claim(path, now, keep, goes)
                if other is None:
                    self._prepare(path, now, keep)
                return other
        except Exception as error:
            if _lstat(path) is not None:
                raise Refused(path, error) from None
            return None

    def _claim(self, path: str, now: os.stat_result | None, keep: _Keep, goes: bool) -> Path | None:
        """Have the path until all is put back, or find the other check that has it. Many write into one folder."""
        is_folder = now is not None and stat.S_ISDIR(now.st_mode)
        if now is not None and (keep is _nothing or (is_folder and not goes)):
            return None
        below = now is None or is_folder
        if self._book.has_claimed(path, with_all_below=below):
            return None
        with self._claims.turn():
            other = self._claims.holder(path, with_all_below=is_folder)
            if other is None:
                self._add(Claimed(path, below))
            return other

    def _concerns(self, path: str, in_caches: bool) -> bool:
        """Whether it is a file of the person's. Caches are there to be filled, though not to be removed."""
        if any(is_in(path, own) for own in self._own) or "/__pycache__/" in f"{path}/":
            return False
        if path.startswith(_SYSTEM) and not path.startswith(_IN_MEMORY):
            return False
        if is_in(path, self._scratch):
            self._guard_own(path)
            return False
        return in_caches or not any(is_in(path, cache) for cache in self._caches)

    def _guard_own(self, path: str) -> None:
        """What is kept is out of the program's reach. What trackers log lies there, too."""
        own = [os.path.join(self._scratch, name) for name in self._journal.names]
        if _lstat(path) is not None and any(is_in(path, name) or is_in(name, path) for name in own):
            raise Refused(path, OSError("it is needed to restore files"))

    def _prepare(self, path: str, now: os.stat_result | None, keep: _Keep) -> None:
        if now is None:
            self._appear(path)
        elif path not in self._book.absent or self._book.is_stashed(now) or self._is_foreign(path, now):
            keep(path, now)
            if self._is_in_new(path) and not self._book.holds(path):
                self._add(Absent(path))
        if now is not None or path in self._book.absent or self._book.is_touched(path):
            self._take_in_hand(path)

    def _is_kept(self, path: str, now: os.stat_result) -> bool:
        """Whether what is there now is the program's, and what was there before is kept."""
        if self._book.holds(path):
            return not self._is_foreign(path, now)
        # A file from before, in a folder from before that the program has renamed.
        return self._book.is_stashed(now) and self._is_in_new(path)

    def _is_in_new(self, path: str) -> bool:
        """Whether a path lies in a folder that was not there before."""
        return any(str(folder) in self._book.absent for folder in Path(path).parents)

    def _is_foreign(self, path: str, now: os.stat_result) -> bool:
        """Whether somebody else has been at a path since the program left it."""
        return self._book.is_touched(path) and not self._book.hands[path] and not self._book.is_ours(path, now)

    def _appear(self, path: str) -> None:
        folder = os.path.dirname(path)
        if self._book.holds(path) or self._book.is_touched(path) or (above := _lstat(folder)) is None:
            return
        self._state(folder, above)
        self._come(path)

    def _come(self, path: str) -> None:
        """Something will be where nothing is."""
        if _lstat(path) is None and not self._book.holds(path):
            self._add(Absent(path))
            self.made.add(os.path.basename(path))
        if path in self._book.absent:
            self._take_in_hand(path)

    def _take_in_hand(self, path: str) -> None:
        if path not in self._in_hand:
            self._add(InHand(path, os.getpid()))
        self._in_hand.setdefault(path, {})[threading.get_ident()] = CLOCK.monotonic()

    def _note_left(self) -> None:
        """Threads other than this one may be about to open what they have announced."""
        if not self._in_hand:
            return
        used, soon = self._used(), CLOCK.monotonic() - _OPENING
        for path, threads in list(self._in_hand.items()):
            threads.pop(threading.get_ident(), None)
            facts = _lstat(path)
            is_near = any(since > soon for since in threads.values())
            if is_near or path in self._for_good or (facts and (facts.st_dev, facts.st_ino) in used):
                continue
            del self._in_hand[path]
            self._add(Left(path, os.getpid(), State.of(facts)))

    def _used(self) -> set[tuple[int, int]]:
        """The files that this process has open, or mapped."""
        found = set(self._mapped)
        for descriptor in system.open_descriptors():
            with suppress(OSError):
                facts = os.fstat(descriptor)
                found.add((facts.st_dev, facts.st_ino))
        return found

    # ------------------------------------------------------------------------------------------------ what is kept

    def _written(self, path: str, now: os.stat_result, *, emptied: bool) -> None:
        if not stat.S_ISREG(now.st_mode) or not os.access(path, os.W_OK):
            return
        is_kept = self._is_kept(path, now)
        if self._book.is_stashed(now):
            self._replace(path, now, emptied, keeps=not is_kept)
        elif not is_kept:
            self._state_folder(path)
            if now.st_nlink > 1 or (now.st_dev, now.st_ino) in self._used() or not self._may_replace(path, now):
                self._copy(path, now)
            else:
                self._replace(path, now, emptied, keeps=True)

    def _may_replace(self, path: str, now: os.stat_result) -> bool:
        return os.access(os.path.dirname(path), os.W_OK | os.X_OK) and self._stashes.place(now, path) is not None

    def _replace(self, path: str, now: os.stat_result, emptied: bool, *, keeps: bool) -> None:
        """Put another file in its place, so that this one stays as it is."""
        other = self._stashes.other(path, now, emptied)
        if keeps:
            self._link(path, now)
        self._take_in_hand(path)
        os.replace(other, path)

    def _leave(self, path: str, now: os.stat_result) -> None:
        if stat.S_ISDIR(now.st_mode):
            self._leave_empty(path, now)
            for name in os.listdir(path):
                inner = os.path.join(path, name)
                facts = _lstat(inner)
                if facts is not None and not self._is_kept(inner, facts):
                    self._leave(inner, facts)
        elif not self._is_kept(path, now):
            self._state_folder(path)
            if stat.S_ISLNK(now.st_mode):
                self._add(Link(path, os.readlink(path)))
            else:
                self._link(path, now)

    def _leave_empty(self, path: str, now: os.stat_result) -> None:
        if not self._is_kept(path, now):
            self._state_folder(path)
            self._state(path, now)

    def _link(self, path: str, now: os.stat_result) -> None:
        stash = self._stashes.place(now, path) if self._book.copy_of(now) is None else None
        if stash is not None:
            # Not every file system has second names, and some are not for us to give.
            with suppress(OSError, NotImplementedError):
                os.link(path, stash, follow_symlinks=False)
                self._keep(path, now, stash, "linked")
                return
        self._copy(path, now)

    def _copy(self, path: str, now: os.stat_result) -> None:
        if stat.S_ISREG(now.st_mode) and not self._is_kept(path, now):
            self._state_folder(path)
            stash = self._stashes.place(now, path) or self._stashes.anywhere()
            first = self._book.copy_of(now)
            if first is not None:
                self._add(msgspec.structs.replace(self._book.facts[first.path], path=path))
            copied(first.stash if first is not None else path, stash, now.st_size)
            self._keep(path, now, stash, "copied")
        elif not stat.S_ISREG(now.st_mode):
            raise OSError("it is not a file that can be copied")

    def _keep(self, path: str, now: os.stat_result, stash: str, how: str) -> None:
        self._state(path, now)
        self._add(Kept(path, stash, how, State.of(now), now.st_ctime_ns))  # type: ignore[arg-type]

    def _restate(self, path: str, now: os.stat_result) -> None:
        if self._book.is_stashed(now):
            self._replace(path, now, False, keeps=not self._is_kept(path, now))
        self._state(path, now)

    def _attribute(self, path: str, now: os.stat_result, name: str) -> None:
        self._restate(path, now)
        if path not in self._book.absent and name not in self._book.attributes.get(path, {}):
            self._add(Attribute(path, name, os.getxattr(path, name) if name in os.listxattr(path) else None))

    def _state(self, path: str, now: os.stat_result) -> None:
        mode, is_folder = stat.S_IMODE(now.st_mode), stat.S_ISDIR(now.st_mode)
        if path not in self._book.facts and path not in self._book.absent and not (is_folder and self._is_in_new(path)):
            self._add(Facts(path, is_folder, mode, now.st_uid, now.st_gid, now.st_atime_ns, now.st_mtime_ns))

    def _state_folder(self, path: str) -> None:
        """Whatever comes and goes in a folder moves its times."""
        folder = os.path.dirname(path)
        if (above := _lstat(folder)) is not None:
            self._state(folder, above)

    def _add(self, *records: Record) -> None:
        self._journal.add(*records)
        self._book.take(records)


def _nothing(path: str, now: os.stat_result) -> None:
    pass


def _lstat(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _cache_of_inductor() -> str:
    """Where torch makes one, by its own rule, `torch._inductor.runtime.cache_dir_utils.default_cache_dir`."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a user without a name
        user = f"uid_{system.user()}"
    return os.path.join(tempfile.gettempdir(), "torchinductor_" + re.sub(r'[\\/:*?"<>|]', "_", user))


def _caches() -> Iterator[str]:
    """Folders of which libraries make caches. One that holds the home or the working folder is none."""
    here = (os.path.realpath(os.path.expanduser("~")), os.path.realpath(os.getcwd()))
    settings = (os.environ.get(name, "") for name in _CACHE_SETTINGS)
    for folder in filter(None, (*settings, *_CACHES, _cache_of_inductor())):
        real = os.path.realpath(os.path.expanduser(folder))
        if not any(is_in(path, real) for path in here):
            yield real
