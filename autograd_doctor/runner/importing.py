"""Importing the file or the module that holds what is to be called."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from types import ModuleType

from autograd_doctor.reading.places import is_own, set_target_folder
from autograd_doctor.runner.model_mode import import_file
from autograd_doctor.runner.program import search_first


def import_where(where: str) -> ModuleType:
    """Import a file or a dotted name; a file of a package under its full name, so that its relative imports work."""
    folder, names = os.getcwd(), [where]
    if where.endswith(".py"):
        path = Path(os.path.abspath(where))
        names, package = [path.stem], path.parent
        while (package / "__init__.py").is_file():
            names.insert(0, package.name)
            package = package.parent
        if len(names) == 1:
            return import_file(where)
        folder = str(package)
    search_first(folder)
    sys.argv[:] = [where]
    return importlib.import_module(".".join(names))


def count_as_own(module: str) -> None:
    """What is asked about is the user's own, even where it is installed among the libraries."""
    file = getattr(sys.modules.get(module), "__file__", None)
    if file and not is_own(file):
        set_target_folder(os.path.dirname(file))
