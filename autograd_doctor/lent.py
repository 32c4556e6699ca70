"""Pure Python of others that the child needs: in another environment than the doctor's, the doctor's own copy.

There it has a name of ours, so that what the environment has of it, in whatever version, is neither used nor replaced.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from typing import Any

_LENT = ("executing",)
_folders: dict[str, str] = {}


def lending() -> Iterator[tuple[str, str]]:
    """What another environment is lent, by name, and the folders that it lies in."""
    for name in _LENT:
        found = find_spec(name)
        if found is not None and found.origin is not None:
            yield name, os.path.dirname(found.origin)


def lend(name: str, folder: str) -> None:
    """From now on, a package is the one of a folder."""
    _folders[name] = folder


def lent_here() -> Iterator[tuple[str, str]]:
    """What this process was lent, for those that it starts."""
    yield from _folders.items()


def lent(name: str) -> Any:
    """A package that may be lent."""
    folder = _folders.get(name)
    if folder is None:
        return import_module(name)
    ours = f"{__package__}.lent_{name}"
    if ours not in sys.modules:
        spec = spec_from_file_location(ours, os.path.join(folder, "__init__.py"))
        assert spec is not None
        assert spec.loader is not None
        sys.modules[ours] = module_from_spec(spec)
        spec.loader.exec_module(sys.modules[ours])
    return sys.modules[ours]
