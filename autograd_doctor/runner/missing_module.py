"""What is known of a module that an import of the program did not find, when the program dies of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from autograd_doctor.events.run import MissingModule

_PROJECTS = ("pyproject.toml", "setup.cfg", "setup.py")
"""What lies in the folder of a project, beside its packages."""


def missing_module(error: BaseException) -> MissingModule | None:
    """Who looked for it, and where it lies all the same; None for any other exception."""
    name = error.name if isinstance(error, ModuleNotFoundError) else None
    if not isinstance(name, str) or not all(part.isidentifier() for part in name.split(".")):
        return None
    first, _, rest = name.partition(".")
    found = sys.modules.get(first) if rest else None
    package = getattr(found, "__file__", None)
    if isinstance(package, str):
        return MissingModule(name, sys.executable, package=package)
    return MissingModule(name, sys.executable, folder=next(_holding(first), ""))


def _holding(name: str) -> Iterator[str]:
    """Folders of the project that hold a module of that name, of those that are not searched."""
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    beside = [Path(script).parent, Path(script).parent.parent] if isinstance(script, str) else []
    searched = {os.path.realpath(folder) for folder in sys.path}
    for project in [Path(), *beside]:
        for folder in (project / "src", project, project / name):
            if os.path.realpath(folder) not in searched and _holds(folder, name):
                yield os.path.realpath(folder)


def _holds(folder: Path, name: str) -> bool:
    """Whether code lies there under that name: a folder of data, or a whole project, may be called like a library."""
    package = folder / name
    if (folder / f"{name}.py").is_file() or (package / "__init__.py").is_file():
        return True
    is_project = any((package / made_by).is_file() for made_by in _PROJECTS)
    return package.is_dir() and not is_project and next(package.glob("*.py"), None) is not None
