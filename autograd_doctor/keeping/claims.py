"""What checks that run at the same time have changed, so that one waits for the other instead of mixing up their files.

Before a check changes a path for the first time, it claims it by a record in its journal, which others read. A claim
ends with the journal, once everything is put back. Whoever wants a path that is claimed waits for the end of the other
check, and its clocks stand still meanwhile.

Checks of one family do not wait for each other, for they would do so for ever: one that runs within a program that is
checked itself, and ranks of one launch. Nor do two each of which has what the other wants: one of them is refused.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from autograd_doctor import system
from autograd_doctor.clock import CLOCK
from autograd_doctor.keeping.book import Book, is_in
from autograd_doctor.keeping.descendants import MARK
from autograd_doctor.keeping.journal import APPEND, Journal, wait_for
from autograd_doctor.keeping.workspace import is_held, is_workspace

WITHIN = "_AUTOGRAD_DOCTOR_WITHIN"
"""A variable of the child's environment: the marks of the checks within whose programs this one runs."""
TURNS = ".autograd_doctor_claims"
"""The file beside the folders of all checks that is locked while one of them claims."""
_FAMILY = "family"
_WAITS = "waits"
_LONGEST_WAIT = 600.0
_BETWEEN_LOOKS = 0.1
_STILL_TRUE = 2.0
"""Who waits says so again and again: what was said longer ago is over."""
_DYING = 5.0
"""A check that was killed is put back within so many seconds, or not before the next one."""


def within() -> str:
    """The marks of the checks within whose programs this process runs, with blanks between them."""
    return f"{os.environ.get(WITHIN, '')} {os.environ.get(MARK, '')}".strip()


def note_family(scratch: Path, mark: str, launch: str) -> None:
    """Say who a check is, and for whom it does not wait. `launch` names that of which it is one rank."""
    mine = [mark, *filter(None, [launch])]
    (scratch / _FAMILY).write_text(json.dumps([mine, [*within().split(), *mine]]))


def is_waiting(scratch: Path) -> bool:
    """Whether a process of the check waits for another check at present."""
    try:
        return CLOCK.time() - (scratch / _WAITS).stat().st_mtime < _STILL_TRUE
    except OSError:
        return False


def claimed_by_others(scratch: Path) -> set[str]:
    """The paths that other checks have changed, or are about to."""
    return Claims(scratch).of_others()


class Claims:
    """What the check of a scratch folder sees of others, which have theirs beside it."""

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch.absolute()
        self._books: dict[Path, tuple[Journal, Book]] = {}
        self._dying: dict[Path, float] = {}
        is_alone = not is_workspace(self._scratch)
        self._above = None if is_alone else self._scratch.parent.parent
        self._abandoned = {other for other in self._scratches() if not is_held(other)}
        _, self._kin = _family(self._scratch)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """No other check claims anything meanwhile."""
        if self._above is None:
            yield
            return
        lock = os.open(self._above / TURNS, APPEND | system.NO_LINK, 0o600)
        try:
            wait_for(lock)
            yield
        finally:
            os.close(lock)

    def holder(self, path: str, *, with_all_below: bool) -> Path | None:
        """The scratch folder of another check that has claimed a path, if there is one."""
        for other in self._others():
            book = self._book(other)
            if book.has_claimed(path) or (with_all_below and any(is_in(each, path) for each in book.claimed)):
                return other
        return None

    def of_others(self) -> set[str]:
        """All that they have claimed."""
        return {path for other in self._others() for path in self._book(other).claimed}

    def wait(self, other: Path, path: str) -> None:
        """Until the other check is over. Raises `OSError` where that takes too long, or would take for ever."""
        _say(f"note: another check has changed {path}; this one waits until that check ends")
        until = CLOCK.monotonic() + _LONGEST_WAIT
        said = self._scratch / _WAITS
        try:
            while not self._is_over(other):
                said.write_text(str(other))
                if self._is_for_ever(other):
                    raise OSError("another check has changed it, and waits for a file that this check has changed")
                if CLOCK.monotonic() > until:
                    raise OSError(f"another check has changed it, and had not ended after {_LONGEST_WAIT:.0f} s")
                CLOCK.sleep(_BETWEEN_LOOKS)
        finally:
            said.unlink(missing_ok=True)

    def _is_for_ever(self, other: Path) -> bool:
        """Whether the other waits for this one in the end. Of such a circle, only the last by name gives up."""
        waiting: list[Path] = []
        last: Path | None = other
        while last is not None and last not in waiting and last != self._scratch:
            waiting.append(last)
            if self._is_kin(last):
                return True
            last = _waited_for(last)
        return last == self._scratch and self._scratch > max(waiting)

    def _others(self) -> Iterator[Path]:
        """Those whose files are not put back yet."""
        for other in self._scratches():
            if not self._is_kin(other) and not self._is_over(other):
                yield other

    def _scratches(self) -> list[Path]:
        if self._above is None:
            return []
        found = self._above.glob(f"*/{self._scratch.name}")
        return [each for each in found if each != self._scratch and is_workspace(each) and Journal(each).is_open()]

    def _is_kin(self, other: Path) -> bool:
        names, _ = _family(other)
        return not self._kin.isdisjoint(names)

    def _is_over(self, other: Path) -> bool:
        if other in self._abandoned or not Journal(other).is_open():
            return True
        if is_held(other):
            return False
        return CLOCK.monotonic() - self._dying.setdefault(other, CLOCK.monotonic()) > _DYING

    def _book(self, other: Path) -> Book:
        journal, book = self._books.setdefault(other, (Journal(other), Book()))
        book.take(journal.news())
        return book


def _family(scratch: Path) -> tuple[set[str], set[str]]:
    """The names of a check, and the names for which it does not wait."""
    try:
        mine, kin = json.loads((scratch / _FAMILY).read_text())
    except (OSError, ValueError):  # it has only just begun, or is being cleared away
        return set(), set()
    return set(mine), set(kin)


def _waited_for(scratch: Path) -> Path | None:
    if not is_waiting(scratch):
        return None
    with suppress(OSError):
        text = (scratch / _WAITS).read_text()
        return Path(text) if text else None
    return None


def _say(text: str) -> None:
    """A program may have closed its standard error, or put something in its place."""
    with suppress(OSError):
        os.write(2, f"{text}\n".encode(errors="replace"))
