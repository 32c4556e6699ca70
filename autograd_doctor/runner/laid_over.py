"""Sources that take the place of files: Python imports, runs and quotes them, and the files stay as they are.

So a change is tried in the folder where it would be made, with every path as it is there, and nothing is written.
"""

from __future__ import annotations

import functools
import io
import linecache
import os
import tokenize
from collections.abc import Callable, Mapping
from importlib.machinery import SourceFileLoader
from typing import Any

from autograd_doctor.runner.spawned import do_first

_FIRST = "from autograd_doctor.runner.member import lay_as_planned; lay_as_planned({!r})"
_laid: dict[str, bytes] = {}


def lay(sources: Mapping[str, bytes], plan: str = "") -> None:
    """From now on, these are read in this process, and in those that it starts under the plan of this file."""
    if not sources:
        return
    if not _laid:
        SourceFileLoader.get_data = _reading(SourceFileLoader.get_data)  # type: ignore[method-assign,assignment]
        SourceFileLoader.path_stats = _asking(SourceFileLoader.path_stats)  # type: ignore[method-assign,assignment]
        if plan:
            do_first(_FIRST.format(plan))
    _laid.update(sources)
    for path, data in sources.items():
        lines = _text(data).splitlines(keepends=True)
        linecache.cache[path] = (len(data), None, lines, path)  # of one without a time nobody asks whether it is old


def source_of(path: str) -> bytes:
    """What Python reads at a path."""
    if path in _laid:
        return _laid[path]
    with io.open_code(path) as file:
        return file.read()


def _reading(original: Callable[[Any, str], bytes]) -> Callable[[Any, str], bytes]:
    @functools.wraps(original)
    def get_data(loader: Any, path: str) -> bytes:
        laid = _laid.get(os.path.abspath(path))
        return original(loader, path) if laid is None else laid

    return get_data


def _asking(original: Callable[[Any, str], Any]) -> Callable[[Any, str], Any]:
    @functools.wraps(original)
    def path_stats(loader: Any, path: str) -> Any:
        """Python looks for no compiled form of what has no date, and keeps none."""
        if os.path.abspath(path) in _laid:
            raise OSError(f"{path} is not read from its file")
        return original(loader, path)

    return path_stats


def _text(data: bytes) -> str:
    encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    return io.TextIOWrapper(io.BytesIO(data), encoding).read()
