"""The folder of one check, and what becomes of it when its check is killed.

What it keeps of the person's files must outlive a restart of the machine, so it lies in the folder for the state of
programs, which unlike that for temporary files is not emptied then.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from autograd_doctor import system
from autograd_doctor.keeping.descendants import end_noted
from autograd_doctor.keeping.journal import Journal
from autograd_doctor.keeping.put_back import PutBack, put_back

_PREFIX = "autograd-doctor-"
_LOCK = "lock"
_SCRATCH = "scratch"
_MEMBERS = "members"
_BETWEEN_SIGNS = 1_000_000_000


class Workspace(NamedTuple):
    """The folder of one check: the trace, a scratch folder for the journal and for what trackers log, and one for the
    traces of processes that the program starts."""

    trace: str
    scratch: str
    members: str


@contextmanager
def workspace() -> Iterator[Workspace]:
    """A folder for one check, gone afterwards, unless it holds what could not be put back."""
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=_state_folder() or tempfile.gettempdir()))
    lock = _locked(folder)
    scratch = folder / _SCRATCH
    scratch.mkdir()
    members = folder / _MEMBERS
    members.mkdir()
    try:
        yield Workspace(str(folder / "trace"), str(scratch), str(members))
    finally:
        _end(folder)
        os.close(lock)
        abandoned()  # such as what another check could not put back before this one


def abandoned() -> list[PutBack]:
    """End and put back what earlier checks have left that were killed with everything that could have done it."""
    done = []
    for folder in _folders():
        lock = _taken_over(folder)
        if lock is not None:
            scratch = folder / _SCRATCH
            ended = Journal(scratch).last_sign() + _BETWEEN_SIGNS
            end_noted(scratch)
            done.append(_end(folder, ended))
            os.close(lock)
    return [one for one in done if any(one)]


def end_abandoned(scratch: Path) -> None:
    """The same for one check that has just been killed. A folder that is none of ours stays."""
    put_back(scratch)
    folder = scratch.parent
    if folder.name.startswith(_PREFIX) and (folder / _LOCK).exists():
        lock = _taken_over(folder)
        if lock is not None:
            _end(folder)
            os.close(lock)


def _end(folder: Path, ended: int | None = None) -> PutBack:
    scratch = folder / _SCRATCH
    done = put_back(scratch, ended)
    if not Journal(scratch).is_open():
        shutil.rmtree(folder, ignore_errors=True)
    return done


def _state_folder() -> str | None:
    """Where programs keep what they still need after a restart; None where that cannot be."""
    named = os.environ.get("XDG_STATE_HOME", "")
    above = named if os.path.isabs(named) else os.path.join(os.path.expanduser("~"), ".local", "state")
    folder = os.path.join(above, "autograd_doctor")
    with suppress(OSError):
        os.makedirs(folder, mode=0o700, exist_ok=True)
        if os.path.isabs(folder) and os.access(folder, os.W_OK | os.X_OK):
            return folder
    return None


def _folders() -> list[Path]:
    """Those of this user that were ever locked: others are just being made."""
    found: list[Path] = []
    for above in filter(None, (_state_folder(), tempfile.gettempdir())):
        with suppress(OSError), os.scandir(above) as entries:
            found += [Path(entry) for entry in entries if entry.name.startswith(_PREFIX) and _is_ours(entry)]
    return [folder for folder in found if (folder / _LOCK).exists()]


def _is_ours(entry: os.DirEntry[str]) -> bool:
    with suppress(OSError):
        return entry.is_dir(follow_symlinks=False) and system.is_own(entry.stat(follow_symlinks=False))
    return False


def _locked(folder: Path) -> int:
    """Hold the lock of a new folder as long as this process lives; it has its name only when it is held."""
    unnamed = folder / f"{_LOCK}.new"
    lock = os.open(unnamed, os.O_RDWR | os.O_CREAT, 0o600)
    system.hold(lock)
    unnamed.rename(folder / _LOCK)
    return lock


def is_workspace(scratch: Path) -> bool:
    """Whether this is the scratch folder of a check's own folder."""
    return scratch.name == _SCRATCH and scratch.parent.name.startswith(_PREFIX)


def is_of_a_check(folder: str) -> bool:
    """Whether this is the folder of a check, this one's or another's."""
    return os.path.basename(folder).startswith(_PREFIX) and os.path.exists(os.path.join(folder, _LOCK))


def is_held(scratch: Path) -> bool:
    """Whether the check to whose folder this belongs is alive."""
    lock = _taken_over(scratch.parent)
    if lock is not None:
        os.close(lock)
    return lock is None and (scratch.parent / _LOCK).exists()


def _taken_over(folder: Path) -> int | None:
    """The lock of a folder if nobody holds it any more."""
    with suppress(OSError):
        lock = os.open(folder / _LOCK, os.O_RDWR)
        if system.take_over(lock):
            return lock
        os.close(lock)
    return None
