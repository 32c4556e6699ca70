"""Launching the user's program as Python itself would: a real `__main__` module, compiled and executed.

`runpy` is not used. It keeps the launcher as `__main__` for everybody who asks `sys.modules` later, and processes that
`multiprocessing` spawns then fail to find the classes of the script.
"""

from __future__ import annotations

import builtins
import importlib.util
import linecache
import os
import pkgutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import CodeType, ModuleType
from typing import Any

from autograd_doctor.plan import Target
from autograd_doctor.reading import places
from autograd_doctor.runner.laid_over import source_of


@dataclass(frozen=True)
class Program:
    """A program that is ready to run: its code, and what Python would have put into `__main__` and `sys.argv`."""

    code: CodeType
    variables: dict[str, Any]
    arguments: list[str]

    def execute(self) -> None:
        """Run the program in the `__main__` module that `become_main` has put in place."""
        exec(self.code, vars(sys.modules["__main__"]))


def load(target: Target) -> Program:
    """Find and compile a script, a folder or archive with a `__main__.py`, or a module; raises what Python would."""
    if target.kind == "module":
        return _module(target)
    if importer := _folder_or_archive(target.name):
        return _bundle(target, importer)
    return _script(target)


def _script(target: Target) -> Program:
    path = os.path.abspath(target.name)
    # The user's file must not inherit our own `from __future__ import annotations`.
    code = compile(source_of(path), path, "exec", dont_inherit=True)
    search_first(os.path.dirname(os.path.realpath(path)))
    if not places.is_own(path):
        places.set_target_folder(os.path.dirname(path))
    variables = {"__loader__": SourceFileLoader("__main__", path), "__file__": path, "__cached__": None}
    return Program(code, variables, [target.name, *target.arguments])


def _folder_or_archive(path: str) -> Any:
    importer = pkgutil.get_importer(os.path.abspath(path))
    return importer if importer is not None and importer.find_spec("__main__") else None


def _bundle(target: Target, importer: Any) -> Program:
    spec = importer.find_spec("__main__")
    folder = os.path.abspath(target.name)
    search_first(folder)
    if not places.is_own(os.path.join(folder, "__main__.py")):
        places.set_target_folder(folder)
    return Program(_code(spec), _of_spec(spec), [target.name, *target.arguments])


def _module(target: Target) -> Program:
    search_first(os.getcwd())
    spec = importlib.util.find_spec(target.name)
    if spec is not None and spec.submodule_search_locations is not None:
        spec = importlib.util.find_spec(f"{target.name}.__main__")
    if spec is None:
        raise ModuleNotFoundError(f"No module named {target.name}", name=target.name)
    code = _code(spec)
    if spec.parent and not places.is_own(code.co_filename):
        places.set_target_folder(_package_folder(spec))
    return Program(code, _of_spec(spec), [code.co_filename, *target.arguments])


def _package_folder(spec: ModuleSpec) -> str:
    """The folder of the top-level package that a module belongs to: a framework is the target."""
    folder = os.path.dirname(spec.origin or "")
    for _ in range(spec.name.count(".") - 1):
        folder = os.path.dirname(folder)
    return folder


def _code(spec: ModuleSpec) -> CodeType:
    get_code = getattr(spec.loader, "get_code", None)
    code = get_code(spec.name) if get_code is not None else None
    if not isinstance(code, CodeType):
        raise ImportError(f"No code object available for {spec.name}", name=spec.name)
    return code


def _of_spec(spec: ModuleSpec) -> dict[str, Any]:
    return {
        "__spec__": spec,
        "__package__": spec.parent,
        "__loader__": spec.loader,
        "__file__": spec.origin,
        "__cached__": spec.cached,
    }


def become_main(program: Program) -> None:
    """Put a new `__main__` in place for a program whose code is in one file."""
    module = new_main(program.variables, program.arguments)
    linecache.lazycache(program.code.co_filename, vars(module))


def new_main(variables: Mapping[str, Any], arguments: Sequence[str]) -> ModuleType:
    """Put a new `__main__` in place, with `sys.argv` as the program expects it.

    `multiprocessing` bound `__mp_main__` to the old `__main__` when it was imported, so that name has to follow.
    Nothing is put back: threads, exit functions and workers of the program live on after its last line.
    """
    module = ModuleType("__main__")
    annotations = {} if sys.version_info >= (3, 14) else {"__annotations__": dict[str, Any]()}  # made when asked for
    vars(module).update({"__builtins__": builtins, **annotations, "__package__": None, **variables})
    sys.modules["__main__"] = sys.modules["__mp_main__"] = module
    sys.argv[:] = arguments
    return module


def search_first(folder: str) -> None:
    """Look for modules in this folder first, unless Python was told not to."""
    if not sys.flags.safe_path:
        sys.path.insert(0, folder)
