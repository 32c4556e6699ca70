"""What not every system has, and what is done without it, in one place: nobody else asks for these parts of Python.

Linux has all of it. macOS lacks `/proc` and `prctl`; Windows, besides, most signals, the locks of POSIX, `fork`, owners
and modes. Each function says what it does then; `docs/limits.md` says what a check is like.
"""

from __future__ import annotations

import ctypes
import errno
import faulthandler
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

PROCESSES = Path("/proc")
"""Where the system says what it knows of processes, if it does."""
BINARY: int = getattr(os, "O_BINARY", 0)
"""For `os.open`, so that bytes stay as they are."""
NO_LINK: int = getattr(os, "O_NOFOLLOW", 0)
"""For `os.open`: no link is followed, where the system can tell."""
NO_ROOM = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC))
"""What a full disk, or a quota that is used up, is told by."""
INTERRUPTS: tuple[signal.Signals, ...] = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)
"""What asks a process to end."""
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_PR_GET_CHILD_SUBREAPER = 37
_CLONE = 0x40049409  # FICLONE: the copy shares its blocks with the original
_FIRST_BYTE = 1
CAN_PASS_ON = os.name != "nt"
"""Whether a child can have an open file of its parent under the same number."""


def module(name: str) -> Any:
    """A module of the standard library, None where the system has none."""
    try:
        return import_module(name)
    except ImportError:
        return None


class _Mallinfo(ctypes.Structure):
    """What `mallinfo2` returns, see mallinfo(3): uordblks in blocks, hblkhd in those that have pages of their own."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in (
            "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost",
        )
    )  # fmt: skip


def _told_by_glibc() -> Callable[[], Any] | None:
    """What glibc has from 2.33 on, and other C libraries have not."""
    try:
        ask = ctypes.CDLL(None).mallinfo2
    except (OSError, TypeError, AttributeError):
        return None
    ask.restype = _Mallinfo
    return ask


_fcntl, _msvcrt, _resource = module("fcntl"), module("msvcrt"), module("resource")
_getuid: Callable[[], int] | None = getattr(os, "getuid", None)
_killpg: Callable[[int, int], None] | None = getattr(os, "killpg", None)
_getsid: Callable[[int], int] | None = getattr(os, "getsid", None)
_at_fork: Callable[..., None] | None = getattr(os, "register_at_fork", None)
_sysconf: Callable[[str], int] | None = getattr(os, "sysconf", None)
_chown: Callable[..., None] | None = getattr(os, "chown", None)
_fchmod: Callable[[int, int], None] | None = getattr(os, "fchmod", None)
_ask_for_stacks: int | None = getattr(signal, "SIGUSR2", None) if hasattr(faulthandler, "register") else None
_mallinfo: Callable[[], Any] | None = _told_by_glibc()
_alarm: int | None = getattr(signal, "SIGALRM", None)
KILL: int = getattr(signal, "SIGKILL", signal.SIGTERM)
"""Ends a process that does not listen; on Windows, every signal does."""
_prctl: Any = None
with suppress(OSError, AttributeError, TypeError):
    _prctl = ctypes.CDLL(None).prctl


# -------------------------------------------------------------------------------------------------------------- locks


def hold(lock: int) -> None:
    """Have the lock of an open file, however long another process has it. Without locks, nobody has it."""
    if _fcntl is not None:
        _fcntl.flock(lock, _fcntl.LOCK_EX)
    elif _msvcrt is not None:
        _msvcrt.locking(lock, _msvcrt.LK_LOCK, _FIRST_BYTE)


def take_over(lock: int) -> bool:
    """Have the lock of an open file if no living process has it. Without locks, one may have it: False."""
    with suppress(OSError):
        if _fcntl is not None:
            _fcntl.flock(lock, _fcntl.LOCK_EX | _fcntl.LOCK_NB)
            return True
        if _msvcrt is not None:
            _msvcrt.locking(lock, _msvcrt.LK_NBLCK, _FIRST_BYTE)
            return True
    return False


def take_turn(lock: int) -> bool:
    """Have the lock of an open file, which is this process's and not its children's; False where another has it.

    Without locks there are no turns: True.
    """
    try:
        if _fcntl is not None:
            _fcntl.lockf(lock, _fcntl.LOCK_EX | _fcntl.LOCK_NB)
        elif _msvcrt is not None:
            _msvcrt.locking(lock, _msvcrt.LK_NBLCK, _FIRST_BYTE)
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EAGAIN, errno.EDEADLK):
            raise
        return False
    return True


# -------------------------------------------------------------------------------------------------------------- files


def out_of_reach(descriptor: int, above: int) -> int:
    """The same open file under a number of at least `above`, or as it is."""
    if _fcntl is not None:
        with suppress(OSError):  # where so many are not allowed, a program will not close so many
            return int(_fcntl.fcntl(descriptor, _fcntl.F_DUPFD_CLOEXEC, above))
    return descriptor


def is_cloned(target: int, source: int) -> bool:
    """Whether an open file has become a copy of another without its content being copied."""
    if _fcntl is None:
        return False
    try:
        _fcntl.ioctl(target, _CLONE, source)
    except OSError:
        return False
    return True


def path_of(descriptor: int) -> str:
    """The path of an open file or folder. Raises `OSError`, of `errno.ENOSYS` where the system cannot tell."""
    os.fstat(descriptor)
    shown = PROCESSES / "self" / "fd" / str(descriptor)
    if shown.is_symlink():
        return os.readlink(shown)
    if _fcntl is not None and hasattr(_fcntl, "F_GETPATH"):
        found: bytes = _fcntl.fcntl(descriptor, _fcntl.F_GETPATH, bytes(1024))
        return os.fsdecode(found.rstrip(b"\0"))
    raise OSError(errno.ENOSYS, "the system does not tell the name of the open file")


def way_to(descriptor: int) -> str:
    """A path that leads to an open folder, whatever name it has by now. Raises `OSError` as `path_of` does."""
    way = PROCESSES / "self" / "fd" / str(descriptor)
    return str(way) if way.is_symlink() else path_of(descriptor)


def open_descriptors() -> list[int]:
    """The numbers of what this process has open, as far as the system tells."""
    for folder in (PROCESSES / "self" / "fd", Path("/dev/fd")):
        with suppress(OSError):
            return [int(name) for name in os.listdir(folder) if name.isdigit()]
    return []


def working_folder() -> str:
    """Also one that was removed, where the system still tells its name. Raises `OSError`."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return os.readlink(PROCESSES / "self" / "cwd").removesuffix(" (deleted)")


def is_own(facts: os.stat_result) -> bool:
    """Whether a file belongs to this user. Without owners, all do."""
    return _getuid is None or facts.st_uid == _getuid()


def user() -> int:
    """The number of this user, 0 where users have none."""
    return _getuid() if _getuid is not None else 0


def give(file: str | int, owner: int, group: int) -> None:
    """Give a file, or an open one, to somebody. Without owners, nothing happens. Raises `OSError`."""
    if _chown is not None:
        _chown(file, owner, group)


def set_mode(descriptor: int, mode: int) -> None:
    """Of an open file, where that can be set."""
    if _fchmod is not None:
        _fchmod(descriptor, mode)


# ------------------------------------------------------------------------------------------------------------- memory


def may_be_shared(address: int) -> bool:
    """Whether other processes may see what this one writes to an address of its memory, as far as the system tells."""
    try:
        maps = (PROCESSES / "self" / "maps").read_text().splitlines()
    except OSError:
        return True
    for ends, access, *_ in map(str.split, maps):
        first, last = (int(end, 16) for end in ends.split("-"))
        if first <= address < last:
            return access.endswith("s")
    return False


# ---------------------------------------------------------------------------------------------------------- processes


def after_fork(**functions: Callable[[], None]) -> None:
    """As `os.register_at_fork`. Without forks, there is nothing to do."""
    if _at_fork is not None:
        _at_fork(**functions)


def signal_all(leader: int, number: int) -> None:
    """Send a signal to a process that leads a session, and to all in it; to it alone where there are no sessions."""
    with suppress(ProcessLookupError, PermissionError):
        (_killpg or os.kill)(leader, number)


def session_of(process: int) -> int:
    """The session that a process belongs to, 0 where there are none."""
    return _getsid(process) if _getsid is not None else 0


def end_with_parent() -> None:
    """Be killed when the parent dies, whatever this process does then. Elsewhere than on Linux, it lives on."""
    parent = os.getppid()
    if _prctl is not None:
        with suppress(OSError):
            _prctl(_PR_SET_PDEATHSIG, KILL)
    if os.getppid() != parent:
        os.kill(os.getpid(), KILL)


@contextmanager
def interrupted_after(seconds: float, error: type[BaseException]) -> Iterator[None]:
    """Raise this in the main thread if a block takes longer. Without timers, and in other threads, never."""
    if _alarm is None or threading.current_thread() is not threading.main_thread():
        yield
        return

    def late(*_: object) -> None:
        raise error

    before = signal.signal(_alarm, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(_alarm, before)


def is_subreaper() -> bool:
    """Whether orphans among the descendants of this process become its children."""
    answer = ctypes.c_int()
    if _prctl is not None:
        with suppress(OSError):
            _prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(answer))
    return bool(answer.value)


def be_subreaper(whether: bool) -> None:
    """Let orphans become children of this process, where the system can."""
    if _prctl is not None:
        with suppress(OSError):
            _prctl(_PR_SET_CHILD_SUBREAPER, ctypes.c_ulong(whether), 0, 0, 0)


def show_stacks_when_asked(file: int) -> None:
    """Have the stacks of all threads written to an open file by `ask_for_stacks`."""
    if _ask_for_stacks is not None:
        faulthandler.register(_ask_for_stacks, file=file, all_threads=True, chain=False)


def ask_for_stacks(process: int) -> None:
    """Of a process of ours, which goes on. Where that cannot be asked for, none are shown."""
    if _ask_for_stacks is not None:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(process, _ask_for_stacks)


# --------------------------------------------------------------------------------------------------------------- use


def wakes() -> int | None:
    """How many times this process gave up the processor by itself; None where the system does not count."""
    return int(_resource.getrusage(_resource.RUSAGE_SELF).ru_nvcsw) if _resource is not None else None


def handed_out() -> int | None:
    """Bytes that the C library has handed out to this process, tensors and all else, None where it does not tell."""
    if _mallinfo is None:
        return None
    told = _mallinfo()
    return int(told.uordblks + told.hblkhd)


def configured(name: str, otherwise: int) -> int:
    """What `os.sysconf` says."""
    return _sysconf(name) if _sysconf is not None else otherwise
