"""The renderers: one file per format, found by its name and loaded when it is asked for.

A renderer defines `NAME` and `render(report, options) -> str`; it writes nothing and decides nothing. Its file is
called like the format, with underscores, and may end in one (`json_.py`). Files without a `NAME` are shared pieces.
Its `SIGN` is how the text of the format begins, whatever was found: by it a file is known that may be replaced.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import NamedTuple

from autograd_doctor.report import Report

COMPARING = ("full", "html", "markdown")
"""Formats for people, which can tell what has become of an earlier report."""
MIN_WIDTH = 20
_COLOR = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True)
class Options:
    """Cells per line, whether to colour, whether the output can show more than ASCII, and what to compare with."""

    width: int = 80
    color: bool = False
    unicode: bool = True
    earlier: Earlier | None = None


class Earlier(NamedTuple):
    """An earlier report on the same program, and the file that it was read from."""

    name: str
    report: Report


@cache
def _file_names() -> frozenset[str]:
    return frozenset(entry.name for entry in pkgutil.iter_modules(__path__))


@cache
def _renderer(format_name: str) -> ModuleType | None:
    """The module of a format, None if there is no such format."""
    name = format_name.replace("-", "_")
    for file_name in sorted({name, f"{name}_"} & _file_names()):
        module = importlib.import_module(f"{__name__}.{file_name}")
        if getattr(module, "NAME", None) == format_name:
            return module
    return None


def is_format(name: str) -> bool:
    """Whether there is a format of this name; its renderer is loaded on the way."""
    return _renderer(name) is not None


def formats() -> tuple[str, ...]:
    """The names of all formats, in alphabetical order. All renderers are loaded."""
    names = (file_name.rstrip("_").replace("_", "-") for file_name in _file_names())
    return tuple(sorted(filter(is_format, names)))


def wrote(head: str) -> bool:
    """Whether a text that begins like this is a report in one of the formats."""
    plain = _COLOR.sub("", head)
    return any((renderer := _renderer(name)) and renderer.SIGN.match(plain) for name in formats())


def render(
    format_name: str,
    report: Report,
    *,
    width: int = 80,
    color: bool = False,
    unicode: bool = True,
    earlier: Earlier | None = None,
) -> str:
    """The report in one format, ending in a newline unless it is empty. Raises `KeyError` for an unknown format.

    Without `unicode` the text is pure ASCII, where a format is made for terminals: see `shows_unicode`. `earlier` is
    compared with in the formats of `COMPARING`.
    """
    renderer = _renderer(format_name)
    if renderer is None:
        raise KeyError(format_name)
    text: str = renderer.render(report, Options(max(width, MIN_WIDTH), color, unicode, earlier))
    return text


def shows_unicode(encoding: str | None) -> bool:
    """Whether a stream of this encoding can show the characters that the renderers draw with."""
    try:
        "│…✓╰─".encode(encoding or "ascii")
    except (LookupError, UnicodeEncodeError):
        return False
    return True
