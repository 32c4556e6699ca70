"""What is to be run: found and looked at before a child process is started, without importing anything of it."""

from __future__ import annotations

import os
import pkgutil
import shlex
import shutil
import sys
import warnings
import zipfile
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

from autograd_doctor.interpreter import OWN, Interpreter
from autograd_doctor.mistakes import Mistake, nearest
from autograd_doctor.notebook.cells import cells
from autograd_doctor.notebook.magics import TOP_LEVEL_AWAIT, translate
from autograd_doctor.plan import Target

_MAIN = "__main__.py"
_NOT_PYTHON = {
    ".ipynb": "a notebook, not a Python program (`jupyter nbconvert --to script` converts it)",
    ".yaml": "a settings file, not a Python program (give it with `--config`)",
    ".yml": "a settings file, not a Python program (give it with `--config`)",
    ".pyc": "compiled Python, but findings need the source",
    **dict.fromkeys((".pt", ".pth", ".ckpt", ".safetensors"), "saved weights, not a program that trains"),
    **dict.fromkeys((".csv", ".json", ".md", ".toml", ".txt"), "not a Python program"),
    ".sh": "a shell script, not a Python program (give the Python program that it runs)",
    ".trace": "a saved trace, not a Python program (`doctor report` judges it again)",
}


def script(name: str, arguments: Sequence[str], python: Interpreter = OWN) -> Target:
    """A script as typed: a file, or a folder or zip file with a `__main__.py`. Raises `Mistake`."""
    if not name:
        raise Mistake("the name of the program is empty")
    _check_text(name, *arguments)
    path = Path(name)
    if path.is_dir():
        main = path / _MAIN
        if not main.is_file():
            raise Mistake(f"{name}: the folder has no `{_MAIN}`{nearest_script(path / 'train.py')}")
        compiled(main.read_bytes(), str(main), python=python)
    elif not path.is_file():
        hint = _module_hint(name, python) or _runner_hint(name, arguments) or nearest_script(path)
        raise Mistake(f"{name}: no such file{hint}")
    elif path.suffix in _NOT_PYTHON:
        raise Mistake(f"{name}: {_NOT_PYTHON[path.suffix]}")
    elif zipfile.is_zipfile(path):
        _check_zip(path, python)
    else:
        compiled(read(path), name, python=python)
    return Target(kind="script", name=name, arguments=list(arguments))


def module(name: str, arguments: Sequence[str], python: Interpreter = OWN) -> Target:
    """A module as `python -m` would find it from the working directory. Raises `Mistake`."""
    _check_text(name, *arguments)
    if name.endswith(".py") and Path(name).is_file():
        raise Mistake(f"{name}: `-m` takes a module, but this is a file (leave `-m` out)")
    spec = find_module(name, python)
    if spec.submodule_search_locations is not None:
        try:
            spec = find_module(f"{name}.__main__", python)
        except Mistake:
            raise Mistake(f"{name}: a package without `{_MAIN}` cannot be run") from None
    if spec.origin and spec.origin.endswith(".py"):
        compiled(read(Path(spec.origin)), spec.origin, python=python)
    return Target(kind="module", name=name, arguments=list(arguments))


def notebook(name: str, arguments: Sequence[str], python: Interpreter = OWN) -> Target:
    """A notebook whose cells are Python, after what IPython adds to it is taken out. Raises `Mistake`."""
    _check_text(name, *arguments)
    for cell in cells(read(Path(name)), name):
        compiled(translate(cell.source).source.encode(), f"{name}:cell {cell.number}", TOP_LEVEL_AWAIT, python)
    return Target(kind="notebook", name=name, arguments=list(arguments))


def _check_text(*words: str) -> None:
    """What the shell passes may be any bytes; a plan and a report are text."""
    for word in words:
        if not word.isascii() and any("\udc80" <= character <= "\udcff" for character in word):
            raise Mistake(f"{os.fsencode(word)!r}: names and arguments must be UTF-8")


def find_module(name: str, python: Interpreter = OWN) -> ModuleSpec:
    """The spec of a dotted name, found package by package so that none of them is imported. Raises `Mistake`."""
    parts = name.split(".")
    if not all(part.isidentifier() for part in parts):
        raise Mistake(f"{name}: not a module name")
    folders: list[str] | None = None
    for depth in range(1, len(parts) + 1):
        full = ".".join(parts[:depth])
        spec = _find_spec(full, folders, python)
        if spec is None or (depth < len(parts) and spec.submodule_search_locations is None):
            where = _in_src(name, python) or _nearest_module(parts[: depth - 1], parts[depth - 1], folders, python)
            raise Mistake(f"{name}: no such module{where}")
        folders = list(spec.submodule_search_locations or [])
    assert spec is not None
    return spec


def read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise Mistake(f"{path}: cannot be read: {error.strerror}") from None


def compiled(source: bytes, name: str, flags: int = 0, python: Interpreter = OWN) -> None:
    """Check that the source is Python, as the flags of `compile` allow it. Raises `Mistake` that shows the place."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            python.check_syntax(source, name, flags)
    except SyntaxError as error:
        where = f"{name}:{error.lineno}:{error.offset}" if error.lineno else name
        raise Mistake(f"{where}: not valid Python: {error.msg}", _code_frame(error)) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise Mistake(f"{name}: not valid Python: {error or type(error).__name__}") from None


def nearest_script(path: Path) -> str:
    folder = path.parent
    beside = [entry.name for entry in folder.glob("*.py")] if folder.is_dir() else []
    return nearest(path.name, beside)


def _module_hint(name: str, python: Interpreter) -> str:
    """ "pkg.train" without `-m` is a module more often than a file without its ending."""
    if name.endswith(".py") or "/" in name:
        return ""
    try:
        find_module(name, python)
    except Mistake:
        return ""
    return f"; did you mean `-m {name}`?"


def _runner_hint(name: str, arguments: Sequence[str]) -> str:
    """ "python train.py": what would run the program is no part of it."""
    if not arguments or not Path(arguments[0]).is_file() or shutil.which(name) is None:
        return ""
    return f"; leave it out: `doctor check {shlex.join(arguments)}`"


def _check_zip(path: Path, python: Interpreter) -> None:
    with zipfile.ZipFile(path) as archive:
        if _MAIN not in archive.namelist():
            raise Mistake(f"{path}: the zip file has no `{_MAIN}`")
        compiled(archive.read(_MAIN), f"{path}/{_MAIN}", python=python)


def _find_spec(name: str, folders: list[str] | None, python: Interpreter) -> ModuleSpec | None:
    """As the import system does, but with the working directory first, as the child will have it."""
    if not python.is_own:
        found = _on_path(name, _searched(python) if folders is None else folders)
        return found or (python.find(name) if folders is None else None)
    for finder in sys.meta_path:
        if finder is PathFinder:
            spec = _on_path(name, _searched(python) if folders is None else folders)
        else:
            spec = finder.find_spec(name, folders)
        if spec is not None:
            return spec
    return None


def _searched(python: Interpreter) -> list[str]:
    return [os.getcwd(), *(sys.path if python.is_own else python.path)]


def _on_path(name: str, folders: list[str]) -> ModuleSpec | None:
    """What `PathFinder` finds; that one would look up the parent of a namespace package among imported modules."""
    portions: list[str] = []
    for folder in folders:
        finder = pkgutil.get_importer(folder)
        spec = finder.find_spec(name) if finder else None
        if spec and spec.loader:
            return spec
        portions += (spec and spec.submodule_search_locations) or []
    namespace = ModuleSpec(name, None, is_package=True)
    namespace.submodule_search_locations = portions
    return namespace if portions else None


def _nearest_module(package: list[str], part: str, folders: list[str] | None, python: Interpreter) -> str:
    beside = [entry.name for entry in pkgutil.iter_modules(folders or _searched(python))]
    return nearest(".".join([*package, part]), [".".join([*package, name]) for name in beside])


def _in_src(name: str, python: Interpreter) -> str:
    """A project that keeps its packages in `src/` has them installed; from the folder itself, Python finds none."""
    package = Path("src", *name.split("."))
    path = next((each for each in (package.with_suffix(".py"), package) if each.exists()), None)
    if path is None:
        return ""
    install = f"`{shlex.quote(python.command)} -m pip install -e .`"
    return f", but {path} is there: install your project ({install}), or put `PYTHONPATH=src` before the command"


def _code_frame(error: SyntaxError) -> str:
    """The line that does not parse, with a caret under the place."""
    if not error.text or not error.lineno:
        return ""
    line = error.text.rstrip("\n").expandtabs(1)
    gutter = " " * len(str(error.lineno))
    width = max(1, (error.end_offset or 0) - (error.offset or 1)) if error.end_lineno == error.lineno else 1
    caret = " " * ((error.offset or 1) - 1) + "^" * width
    return f" {gutter} |\n {error.lineno} | {line}\n {gutter} | {caret}"
