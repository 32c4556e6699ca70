"""Hears of each change of a file before it happens, through the audit events of Python.

An audit hook stays for the life of the process and hears of much else, so it does next to nothing there. It lets the
program do what it was about to do, unless what is there could not be kept.
"""

from __future__ import annotations

import errno
import functools
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from urllib.parse import unquote

from autograd_doctor import system
from autograd_doctor.clock import CLOCK
from autograd_doctor.runner.keeper import Keeper, Refused

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_LOOK_EVERY = 0.5
_HERE = -1
"""How audit events say that a path is not relative to the folder of a descriptor."""


class Witness:
    """Tells a keeper of what the program is about to do to files. `refused` is told what it was not let do."""

    def __init__(self, keeper: Keeper, refused: Callable[[str], None]) -> None:
        self._keeper = keeper
        self._refused = refused
        self._lock = threading.Lock()
        self._busy: int | None = None
        self._looks = False
        system.after_fork(after_in_child=self._forked)

    def listen(self) -> None:
        heard: dict[str, Callable[..., None]] = {
            "open": self._opened,
            "os.remove": self._removed,
            "os.rmdir": self._folder_removed,
            "os.rename": self._renamed,
            "os.mkdir": self._made,
            "os.symlink": self._linked,
            "os.link": self._linked_twice,
            "os.truncate": self._truncated,
            "os.chmod": self._moded,
            "os.chown": self._owned,
            "os.utime": self._timed,
            "os.setxattr": self._attributed,
            "os.removexattr": self._attributed,
            "mmap.__new__": self._mapped,
            "socket.bind": self._bound,
            "sqlite3.connect": self._database,
            "tempfile.mkdtemp": self._temporary,
            "tempfile.mkstemp": self._temporary,
        }
        made = self._keeper.made

        def hook(event: str, arguments: tuple[Any, ...]) -> None:
            if event in heard and (event != "open" or arguments[2] & _WRITES or _ends_in(arguments[0], made)):
                self._hear(heard[event], arguments)

        sys.addaudithook(hook)
        self._hear_what_is_not_audited()

    def _hear_what_is_not_audited(self) -> None:
        """`open` is told of without the folder that a name is relative to, and what makes pipes not at all."""
        if os.open in os.supports_dir_fd:
            _replace("open", _opening(os.open))
        for name in ("mkfifo", "mknod"):
            if hasattr(os, name):
                _replace(name, self._making(getattr(os, name)))

    def _making(self, original: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(original)
        def make(path: Any, *arguments: Any, dir_fd: int | None = None, **options: Any) -> None:
            self._hear(self._made, (path, 0, _HERE if dir_fd is None else dir_fd))
            original(path, *arguments, dir_fd=dir_fd, **options)

        return make

    def _look(self) -> None:
        """Now and then, how files were left, so that what others do to them later is known as theirs."""
        while True:
            CLOCK.sleep(_LOOK_EVERY)
            self.settle()

    def announce(self, path: Any) -> None:
        """A library is going to write a file without Python hearing of it."""
        if isinstance(path, str | os.PathLike):
            self._hear(self._opened, (path, "w", os.O_WRONLY | os.O_TRUNC))

    def settle(self) -> None:
        """The program is over, or nearly so."""
        self._hear(self._keeper.settle, ())

    def training_began(self) -> None:
        """The first backward, or the first step, has been."""
        self._hear(self._keeper.training_began, ())

    def _forked(self) -> None:
        self._lock = threading.Lock()
        self._busy = None
        self._looks = False
        self._keeper.forked()

    def _hear(self, tell: Callable[..., None], arguments: tuple[Any, ...]) -> None:
        """What we do to files ourselves meanwhile is not looked at. Calls that fail by themselves may."""
        if self._busy == threading.get_ident():
            return
        with self._lock:
            self._busy = threading.get_ident()
            try:
                tell(*arguments)
            except Refused as error:
                self._refused(str(error.filename))
                raise
            except Exception:
                pass
            finally:
                self._busy = None
        if not self._looks:
            self._looks = True
            with suppress(RuntimeError):  # at the end of a process no thread can be started
                threading.Thread(target=self._look, name="autograd_doctor files", daemon=True).start()

    # ------------------------------------------------------------------------------------------------------ events

    def _opened(self, path: Any, _mode: Any, flags: int) -> None:
        if isinstance(path, int):
            return
        real = _followed(path)
        if not flags & _WRITES:
            self._keeper.read(real)
        elif flags & os.O_EXCL:
            self._keeper.made_new(_named(path, _HERE))
        elif flags & os.O_TRUNC:
            self._keeper.emptied(real)
        else:
            self._keeper.changed(real)

    def _truncated(self, path: Any, _length: int) -> None:
        if not isinstance(path, int):
            self._keeper.changed(_followed(path))

    def _removed(self, path: Any, folder: int = _HERE) -> None:
        self._keeper.removed(_named(path, folder))

    def _folder_removed(self, path: Any, folder: int = _HERE) -> None:
        self._keeper.folder_removed(_named(path, folder))

    def _renamed(self, source: Any, target: Any, source_folder: int = _HERE, target_folder: int = _HERE) -> None:
        self._keeper.renamed(_named(source, source_folder), _named(target, target_folder))

    def _made(self, path: Any, _mode: int, folder: int = _HERE) -> None:
        self._keeper.made_new(_named(path, folder))

    def _linked(self, _source: Any, path: Any, folder: int = _HERE) -> None:
        self._keeper.made_new(_named(path, folder))

    def _linked_twice(self, source: Any, path: Any, source_folder: int = _HERE, folder: int = _HERE) -> None:
        self._keeper.linked_twice(_named(source, source_folder))
        self._keeper.made_new(_named(path, folder))

    def _moded(self, path: Any, _mode: int, folder: int = _HERE) -> None:
        self._restated(path, folder)

    def _owned(self, path: Any, _user: int, _group: int, folder: int = _HERE) -> None:
        self._restated(path, folder)

    def _timed(self, path: Any, _times: Any, _nanoseconds: Any, folder: int = _HERE) -> None:
        self._restated(path, folder)

    def _attributed(self, path: Any, name: Any, *_: Any) -> None:
        self._keeper.attributed(self._stated(path, _HERE), os.fsdecode(name))

    def _restated(self, path: Any, folder: int) -> None:
        self._keeper.restated(self._stated(path, folder))

    def _stated(self, path: Any, folder: int) -> str:
        """The file of which something is said, by its name or a descriptor."""
        return _followed(_named(_path_of(path) if isinstance(path, int) else path, folder))

    def _mapped(self, descriptor: int, *_: Any) -> None:
        if descriptor >= 0:
            self._keeper.mapped(descriptor)

    def _bound(self, _socket: Any, address: Any) -> None:
        if isinstance(address, str | bytes) and address and address[0] not in (0, "\0"):
            self._keeper.made_new(_named(address, _HERE))

    def _temporary(self, path: Any) -> None:
        self._keeper.temporary(_named(path, _HERE))

    def _database(self, path: Any, *_: Any) -> None:
        text = os.fsdecode(path)
        if text.startswith("file:"):
            text = unquote(text.removeprefix("file:").partition("?")[0])
        if text not in ("", ":memory:"):
            self._keeper.database(_followed(text))


def _opening(original: Callable[..., int]) -> Callable[..., int]:
    """`os.open` with the folder of a descriptor as part of the name, so that the audit event has it as well."""

    @functools.wraps(original)
    def open(path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if dir_fd is None or not flags & _WRITES:
            return original(path, flags, mode, dir_fd=dir_fd)
        folder = _named_by(system.way_to, dir_fd)
        name = os.fspath(path)
        try:
            return original(os.path.join(os.fsencode(folder) if isinstance(name, bytes) else folder, name), flags, mode)
        except OSError as error:
            error.filename = path
            raise

    return open


def _replace(name: str, function: Callable[..., Any]) -> None:
    """Put a function in the place of one of `os`, wherever it goes by."""
    original = getattr(os, name)
    for module in (os, sys.modules[original.__module__]):
        setattr(module, name, function)
    for able in (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks):
        if original in able:
            able.add(function)


def _path_of(descriptor: int) -> str:
    return _named_by(system.path_of, descriptor)


def _named_by(name: Callable[[int], str], descriptor: int) -> str:
    """A name for what is open. What has none that we know cannot be kept."""
    try:
        return name(descriptor)
    except OSError as error:
        if error.errno == errno.ENOSYS:
            raise Refused(f"descriptor {descriptor}", error) from None
        raise


def _ends_in(path: Any, names: set[str]) -> bool:
    """Whether a path may be that of one of these files."""
    if names:
        with suppress(TypeError):
            return os.path.basename(os.fsdecode(path)) in names
    return False


def _named(path: Any, folder: int) -> str:
    """The absolute path of a name, which itself may be a link."""
    text = os.fsdecode(path)
    if folder is not None and folder >= 0 and not os.path.isabs(text):
        text = os.path.join(_path_of(folder), text)
    above, name = os.path.split(_absolute(text.rstrip("/") or "/"))
    return _followed(text) if name in ("", ".", "..") else os.path.join(os.path.realpath(above), name)


def _followed(path: Any) -> str:
    """The absolute path of what a name leads to."""
    return os.path.realpath(_absolute(os.fsdecode(path)))


def _absolute(path: str) -> str:
    if os.path.isabs(path):
        return path
    return os.path.join(system.working_folder(), path)  # names that lead out of one that was removed are still good
