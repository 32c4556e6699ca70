"""Keeping the user's files as they are: what the program saves goes to a scratch folder, and is found there again."""

from __future__ import annotations

import builtins
import functools
import io
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

_READERS = {
    os: ("stat", "lstat", "access", "chmod", "utime", "remove", "unlink", "listxattr", "open"),
    builtins: ("open",),
    io: ("open",),
}
_MOVERS = {os: ("rename", "replace"), shutil: ("copyfile",)}


class Scratch:
    """Where saved files really are. Paths are mirrored below the folder, so that no two files meet there.

    `first_saved` is told the first path that each kind of saving function was kept from writing.
    """

    def __init__(self, folder: Path, first_saved: Callable[[str, str], None]) -> None:
        self._folder = folder
        self._first_saved = first_saved
        self._kinds: set[str] = set()
        self._moved: dict[str, str] = {}

    def redirect(self, path: Any, kind: str) -> Any:
        """Where to write a file instead. Anything but a path in an existing folder is left for the writer to judge."""
        wanted = _path(path)
        if wanted is None or wanted.startswith(f"{self._folder}/"):
            return path
        if not os.path.isdir(os.path.dirname(wanted)) or os.path.isdir(wanted):
            return path
        if not self._moved:
            self._follow()
        if kind not in self._kinds:
            self._kinds.add(kind)
            self._first_saved(kind, os.fspath(path))
        return self._mirror(wanted)

    def where(self, path: Any) -> Any:
        """Where a file that was saved in this run is; any other path as it is."""
        wanted = _path(path) if self._moved else None
        return path if wanted is None else self._moved.get(wanted, path)

    def saving(self, function: Callable[..., Any], kind: str, position: int, keyword: str) -> Callable[..., Any]:
        """A saving function whose path argument is redirected."""
        return _with_path(function, lambda path: self.redirect(path, kind), position, keyword)

    def loading(self, function: Callable[..., Any], position: int, keyword: str) -> Callable[..., Any]:
        """A reading function that finds what was saved in this run."""
        return _with_path(function, self.where, position, keyword)

    def _mirror(self, wanted: str) -> str:
        mirrored = self._folder / "files" / os.path.relpath(wanted, "/")
        mirrored.parent.mkdir(parents=True, exist_ok=True)
        self._moved[wanted] = str(mirrored)
        return str(mirrored)

    def _follow(self) -> None:
        """From now on the program finds, reads, copies and removes what it saved under the name that it chose."""
        for module, names in _READERS.items():
            for name in names:
                _replace(module, name, self.loading(getattr(module, name), 0, "path"))
        for module, names in _MOVERS.items():
            for name in names:
                _replace(module, name, self._moving(getattr(module, name)))

    def _moving(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A copy of a redirected file is redirected as well: `model_best.pt` is as precious as `checkpoint.pt`."""

        @functools.wraps(function)
        def moving(src: Any, dst: Any, *args: Any, **kwargs: Any) -> Any:
            source = self.where(src)
            target = _path(dst)
            if source is not src and target is not None:
                function(source, self._mirror(target), *args, **kwargs)
                return dst
            return function(src, self.where(dst), *args, **kwargs)

        return moving


def _replace(module: ModuleType, name: str, follower: Callable[..., Any]) -> None:
    """Set the function, with the abilities that `os` says the original has: `shutil` looks them up."""
    original = getattr(module, name)
    for able in (os.supports_fd, os.supports_dir_fd, os.supports_follow_symlinks, os.supports_effective_ids):
        if original in able:
            able.add(follower)
    setattr(module, name, follower)


def _path(path: Any) -> str | None:
    """The absolute path that an argument names; None for file objects, descriptors and bytes."""
    if not isinstance(path, str | os.PathLike):
        return None
    plain = os.fspath(path)
    return os.path.abspath(plain) if isinstance(plain, str) else None


def _with_path(
    function: Callable[..., Any], change: Callable[[Any], Any], position: int, keyword: str
) -> Callable[..., Any]:
    @functools.wraps(function)
    def changed(*args: Any, **kwargs: Any) -> Any:
        if len(args) > position:
            args = (*args[:position], change(args[position]), *args[position + 1 :])
        elif keyword in kwargs:
            kwargs[keyword] = change(kwargs[keyword])
        return function(*args, **kwargs)

    return changed
