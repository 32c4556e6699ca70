"""Replacing an attribute for a while, and restoring exactly what was replaced."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

_ABSENT = object()


class Patches(ExitStack):
    """A stack of replaced attributes; each is restored on the very object on which it was replaced."""

    def replace(self, owner: Any, name: str, value: Any) -> None:
        """Set `owner.name` to `value` until exit. An attribute that `owner` only inherits is removed again on exit."""
        before = vars(owner).get(name, _ABSENT)
        setattr(owner, name, value)
        self.callback(_restore, owner, name, before)


def _restore(owner: Any, name: str, before: Any) -> None:
    if before is _ABSENT:
        delattr(owner, name)
    else:
        setattr(owner, name, before)
