"""What a report says of the files: what was removed, put back, or could not be."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence, Set

from autograd_doctor.keeping.book import is_in
from autograd_doctor.keeping.listing import Listing
from autograd_doctor.keeping.put_back import PutBack

_NAMED = 3


def told(done: PutBack, before: Listing, scratch: str, of_others: Set[str] = frozenset()) -> Iterator[str]:
    """One text for each kind of thing. What differs from a listing from before has changed without Python's knowing.

    of_others: what other checks had changed when this one began or ended, of which their reports tell.
    """
    if done.removed:
        yield f"removed after the run, since the program wrote it: {_named(_outermost(done.removed))}"
    if done.restored:
        yield f"restored after the run, since the program changed it: {_named(_outermost(done.restored))}"
    if done.prepared:
        how = "kept for the next run, since the program wrote it before training and read it back"
        yield f"{how}: {_named(_together(done.prepared))}"
    others = {*done.wrote, *(set(before.changes()) - of_others)} - {*done.beside.values(), *done.failed}
    others = {path for path in others if not any(is_in(prepared, path) for prepared in done.prepared)}
    if others:
        how = "by native code or by another process"
        yield f"changed during the run {how}, and not restored: {_named(_outermost(sorted(others)))}"
    if not before.is_whole:
        yield "too many files here to tell what native code or other processes changed in all of them"
    for path, beside in done.beside.items():
        yield f"the earlier content of `{_shown(path)}`, before others wrote it, is in `{_shown(beside)}`"
    for path, why in done.failed.items():
        yield f"`{_shown(path)}` could not be restored ({why}); its earlier content is kept in `{scratch}`"


def _together(paths: Sequence[str]) -> list[str]:
    """Folders instead of the files in them, where there are many."""
    return list(paths) if len(paths) <= _NAMED else list(dict.fromkeys(map(os.path.dirname, paths)))


def _outermost(paths: Sequence[str]) -> list[str]:
    """Without those that lie in another."""
    found: list[str] = []
    for path in sorted(paths, key=lambda path: path.split("/")):
        if not found or not path.startswith(f"{found[-1]}/"):
            found.append(path)
    return found


def _named(paths: Sequence[str]) -> str:
    shown = [f"`{_shown(path)}`" for path in paths]
    if len(shown) > _NAMED + 1:
        shown = [*shown[:_NAMED], f"{len(shown) - _NAMED} more"]
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def _shown(path: str) -> str:
    """Relative where it lies below the working folder."""
    try:
        here = os.path.realpath(os.getcwd())
    except FileNotFoundError:
        return path
    return os.path.relpath(path, here) if path.startswith(f"{here}/") else path
