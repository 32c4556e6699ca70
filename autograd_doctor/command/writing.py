"""Files at paths that a person has named: what may be written there, known before anything runs, and how it is written.

Nothing is replaced but what we have written ourselves, known by how it begins, and files that are empty. What is no
file (a terminal, a pipe) takes anything.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

from autograd_doctor import recording, system
from autograd_doctor.mistakes import Mistake

_SOURCES = (".py", ".pyw", ".pyi", ".ipynb")
HEAD = 1 << 16
_STREAMS = re.compile(r"/dev/(std(in|out|err)|fd/\d+)|/proc/(self|\d+)/fd/\d+")
_ONLY_IN_PLACE = (errno.EACCES, errno.EPERM, errno.EBUSY, errno.EXDEV)
"""What a system answers where a file may be written, and not replaced: one that is mounted, a folder of others."""


def is_report(head: bytes) -> bool:
    """Whether a file that begins like this is a report of ours, in whatever format."""
    # Loading renderers takes a while that the usual check need not wait.
    from autograd_doctor.renderers import wrote

    return wrote(head.decode(errors="replace"))


def is_trace(head: bytes) -> bool:
    """Whether a file that begins like this is a trace."""
    return head.startswith(recording.NAME)


def is_patch(head: bytes) -> bool:
    """Whether a file that begins like this is a unified diff."""
    return head.startswith((b"--- ", b"diff "))


_WRITTEN = {"report": is_report, "trace": is_trace, "patch": is_patch}


def check(file: Path, kind: Literal["report", "trace", "patch"], *others: Path) -> None:
    """Raises `Mistake` for what cannot be written, or must not be: `others` have a part in what is asked for."""
    _check_writable(file)
    if _is_stream(file) or not file.exists():
        return
    if file.suffix in _SOURCES or any(other.exists() and file.samefile(other) for other in others):
        raise _refusal(file)
    try:
        with file.open("rb") as there:
            head = there.read(HEAD)
    except OSError as error:
        raise Mistake(f"{file}: not written: the existing file cannot be read: {error.strerror}") from None
    if head and not _WRITTEN[kind](head):
        raise _refusal(file, kind)


def write(file: Path, data: bytes) -> None:
    """Whole, or not at all: then what was there before is there still. Raises `Mistake`."""
    try:
        if _is_stream(file):
            with file.open("ab", buffering=0) as stream:
                _write_all(stream.fileno(), data)
        else:
            # Where a link leads, so that it goes on to be one.
            _replace(Path(os.path.realpath(file)), data)
    except OSError as error:
        raise Mistake(f"{file}: cannot be written: {error.strerror}") from None


@contextmanager
def noting(failed: list[Mistake]) -> Iterator[None]:
    """What cannot be written is noted, and costs nothing that comes after it."""
    try:
        yield
    except Mistake as mistake:
        failed.append(mistake)


def tell(failed: list[Mistake]) -> None:
    """Raises one `Mistake` for all that have been noted, a line for each."""
    if failed:
        first, *others = failed
        raise Mistake(
            str(first), "\n".join([first.detail] * bool(first.detail) + [f"error: {each}" for each in others])
        )


def _check_writable(file: Path) -> None:
    if file.is_dir():
        raise Mistake(f"{file}: cannot be written: it is a folder")
    if not file.parent.is_dir():
        raise Mistake(f"{file}: cannot be written: no such folder `{file.parent}`")
    if not os.access(file if file.exists() else file.parent, os.W_OK):
        raise Mistake(f"{file}: cannot be written: permission denied")


def _refusal(file: Path, kind: str = "report") -> Mistake:
    return Mistake(f"{file}: not written: it already exists and is not a {kind} that may be replaced")


def _is_stream(file: Path) -> bool:
    """Standard output may be a file of which this is only a further part (`>> log.txt`)."""
    if _STREAMS.fullmatch(os.path.normpath(file)):
        return True
    return file.exists() and not file.is_file()


def _replace(file: Path, data: bytes) -> None:
    before = file.stat() if file.exists() else None
    beside = file.with_name(f".{file.name[:100]}.{os.getpid()}.new")
    try:
        _make(beside, data, before)
        beside.replace(file)
    except OSError as error:
        if before is None or error.errno not in _ONLY_IN_PLACE:
            raise
        file.write_bytes(data)
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


def _make(file: Path, data: bytes, like: os.stat_result | None) -> None:
    """A new file, with the mode and owner of the one whose place it takes."""
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | system.BINARY, 0o666)
    try:
        _write_all(descriptor, data)
        if like is not None:
            with suppress(PermissionError):
                system.give(descriptor, like.st_uid, like.st_gid)
            system.set_mode(descriptor, stat.S_IMODE(like.st_mode))
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
