"""The renderers: one file per format, found by walking this folder.

A renderer defines `NAME` and `render(report, options) -> str`; it writes nothing and decides nothing. Files without a
`NAME` are shared pieces.
"""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass
from functools import cache
from types import ModuleType

from autograd_doctor.report import Report

MIN_WIDTH = 20


@dataclass(frozen=True)
class Options:
    """Cells per line, whether to colour, and whether the output can show more than ASCII."""

    width: int = 80
    color: bool = False
    unicode: bool = True


@cache
def _renderers() -> dict[str, ModuleType]:
    modules = (importlib.import_module(f"{__name__}.{entry.name}") for entry in pkgutil.iter_modules(__path__))
    return {module.NAME: module for module in modules if hasattr(module, "NAME")}


def formats() -> tuple[str, ...]:
    """The names of all formats, in alphabetical order."""
    return tuple(sorted(_renderers()))


def render(format_name: str, report: Report, *, width: int = 80, color: bool = False, unicode: bool = True) -> str:
    """The report in one format, ending in a newline unless it is empty. Raises `KeyError` for an unknown format.

    Without `unicode` the text is pure ASCII: see `shows_unicode`.
    """
    options = Options(width=max(width, MIN_WIDTH), color=color, unicode=unicode)
    text: str = _renderers()[format_name].render(report, options)
    return text


def shows_unicode(encoding: str | None) -> bool:
    """Whether a stream of this encoding can show the characters that the renderers draw with."""
    try:
        "│…✓╰─".encode(encoding or "ascii")
    except (LookupError, UnicodeEncodeError):
        return False
    return True
