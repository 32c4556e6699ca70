"""The Python that runs a program: the doctor's own, or that of another environment, which is asked before it is used.

Only there is torch needed. What it runs of this package needs little else, so that one doctor serves many environments.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any, NamedTuple

from autograd_doctor.asked import MARK, installed
from autograd_doctor.mistakes import Mistake, nearest_file

OLDEST_PYTHON = (3, 11)
NEEDED: Mapping[str, tuple[int, int]] = {"torch": (2, 4), "msgspec": (0, 19)}
"""What has to be installed where programs run, and from which version on. All else comes with the child."""
_ENVIRONMENTS = (".venv", "venv", "env")
_ACTIVE = ("VIRTUAL_ENV", "CONDA_PREFIX")
_INSIDE = ("bin/python", "Scripts/python.exe", "python.exe")
_PATIENCE = 30.0
_ASKED = str(Path(__file__).with_name("asked.py"))
_COMPILE = """
import json, sys, warnings
warnings.simplefilter("ignore")
try:
    compile(sys.stdin.buffer.read(), sys.argv[1], "exec", int(sys.argv[2]), True)
except SyntaxError as error:
    print(json.dumps([error.msg, [error.filename, error.lineno, error.offset, error.text, error.end_lineno,
                                  error.end_offset]]))
"""
_FIND = """
import sys
sys.path[:] = [folder for folder in sys.path if folder]
import json
from importlib.util import find_spec
found = find_spec(sys.argv[1])
print(json.dumps(found and [found.origin, found.submodule_search_locations and list(found.submodule_search_locations)]))
"""


class Interpreter(NamedTuple):
    """A Python that can run programs under a check. path: where it looks for modules, behind the program's folder."""

    command: str
    version: tuple[int, ...]
    path: Sequence[str]
    is_own: bool = False

    def check_syntax(self, source: bytes, name: str, flags: int) -> None:
        """As `compile`, which raises; what the older of two Pythons can read, both can."""
        own = sys.version_info[:2]
        try:
            compile(source, name, "exec", flags, dont_inherit=True)
        except SyntaxError:
            if own >= self.version[:2]:
                raise
        else:
            if own <= self.version[:2]:
                return
        answer = self._answer("-I", "-c", _COMPILE, name, str(flags), given=source)
        if answer is not None:
            raise SyntaxError(*answer)

    def find(self, module: str) -> ModuleSpec | None:
        """A module that is not inside another one, where it is not found by looking through folders."""
        origin, folders = self._answer("-c", _FIND, module) or (None, None)
        if origin is None and folders is None:
            return None
        found = ModuleSpec(module, None, origin=origin, is_package=folders is not None)
        found.submodule_search_locations = folders
        return found

    def _answer(self, *arguments: str, given: bytes = b"") -> Any:
        """What it answers in JSON; None where it has nothing to say."""
        done = subprocess.run([self.command, *arguments], input=given, capture_output=True, timeout=_PATIENCE)
        return json.loads(done.stdout or b"null")


OWN = Interpreter(sys.executable, sys.version_info[:3], (), is_own=True)


def of_program(named: str | None, where: str, beside: Path) -> Interpreter:
    """The interpreter that is named, else our own. Raises `Mistake` if it cannot run a program under a check.

    where: what names it. beside: the folder of the program, in which an environment may lie.
    """
    if named is None or (command := _located(named, where)) == OWN.command:
        _check_packages(sys.executable, {name: installed(name) for name in (*NEEDED, "pip")}, _elsewhere(beside))
        return OWN
    said = asked(command, where, (*NEEDED, "pip"))
    _check_packages(command, said["packages"])
    return Interpreter(command, tuple(said["version"]), tuple(said["path"]))


def asked(command: str, where: str, packages: Iterable[str]) -> dict[str, Any]:
    """What a Python says of itself. Raises `Mistake` for what is none, hangs or crashes, or is too old."""
    said = _told(command, where, list(packages))
    release = tuple(said["version"])
    if release[:2] < OLDEST_PYTHON:
        needed = _dotted(OLDEST_PYTHON)
        raise Mistake(f"{where}: {command} is Python {_dotted(release)}, but a check needs Python {needed} or later")
    return said


def located(named: str | None, where: str) -> str:
    """The command of the interpreter that is named, our own if none is. Raises `Mistake`."""
    return OWN.command if named is None else _located(named, where)


def lacking_torch() -> str:
    """Why nothing can be watched in this very process; empty where it can."""
    if installed("torch") is not None:
        return ""
    how = _install(sys.executable, "torch", installed("pip"))
    return f"torch is not installed for {sys.executable}: {how}"


# ----------------------------------------------------------------------------------------------------------- finding it


def _located(named: str, where: str) -> str:
    """A path, a name that is looked up as the shell does, or the folder of an environment. It stays a link that it is:
    by it, Python knows the environment."""
    path = Path(named).expanduser()
    if path.is_dir():
        inside = _inside(path)
        if inside is None:
            raise Mistake(f"{where}: {named}: a folder without `bin/python` is not a Python environment")
        return inside
    if path.is_file():
        return os.path.abspath(path)
    found = None if os.path.dirname(named) else shutil.which(named)
    if found is None:
        gone = f"a link to {os.readlink(path)}, which does not exist" if path.is_symlink() else "no such interpreter"
        raise Mistake(f"{where}: {named}: {gone}{'' if path.is_symlink() else nearest_file(path)}")
    return os.path.abspath(found)


def _inside(environment: Path) -> str | None:
    """The interpreter of an environment."""
    found = (environment / inside for inside in _INSIDE)
    return next((os.path.abspath(each) for each in found if each.is_file()), None)


def _elsewhere(beside: Path) -> Iterator[str]:
    """Interpreters that the person may have meant: of the active environment, and of those that lie beside the program
    or above it, no further than the repository's root."""
    folders = [Path(active) for name in _ACTIVE if (active := os.environ.get(name))]
    here = beside.resolve()
    for above in (here, *here.parents):
        folders += [above / name for name in _ENVIRONMENTS]
        if (above / ".git").exists():
            break
    for folder in dict.fromkeys(folders):
        command = _inside(folder)
        if command is not None and command != OWN.command:
            yield command


# ------------------------------------------------------------------------------------------------------------ asking it


def _told(command: str, where: str, packages: Sequence[str]) -> dict[str, Any]:
    # A file takes what it prints, because whatever it has started could keep a pipe open.
    with tempfile.TemporaryFile() as printed, tempfile.TemporaryFile() as complained:
        try:
            process = subprocess.Popen(
                [command, _ASKED, *packages], stdin=subprocess.DEVNULL, stdout=printed, stderr=complained
            )
        except OSError as error:
            raise Mistake(f"{where}: {command}: cannot be run: {error.strerror}") from None
        try:
            status = process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            raise Mistake(f"{where}: {command}: did not tell its Python version within {_PATIENCE:g} seconds") from None
        finally:
            process.kill()
            process.wait()
        lines, complaint = _lines(printed), _lines(complained)
    for line in lines:
        if line.startswith(MARK):
            with suppress(ValueError):
                return dict(json.loads(line.removeprefix(MARK)))
    how = _ending(status)
    last = f": {complaint[-1]}" if complaint and how else ""
    raise Mistake(f"{where}: {command}: is not a working Python{how}{last}")


def _ending(status: int) -> str:
    if status >= 0:
        return f"; asked for its version, it exited with {status}" if status else ""
    with suppress(ValueError):
        return f"; asked for its version, it died of {signal.Signals(-status).name}"
    return f"; asked for its version, it died of signal {-status}"


def _lines(file: Any) -> list[str]:
    file.seek(0)
    return [line.strip() for line in file.read().decode(errors="replace").splitlines() if line.strip()]


# ------------------------------------------------------------------------------------------------- what it has to have


def _check_packages(command: str, found: Mapping[str, list[str] | None], others: Iterable[str] = ()) -> None:
    for name, oldest in NEEDED.items():
        versions = found.get(name)
        needed = f"{name} {_dotted(oldest)} or later"
        if versions is None:
            who = ", which runs the doctor" if command == OWN.command else ""
            how = (name == "torch" and _meant(others)) or _install(command, name, found.get("pip"))
            raise Mistake(f"{name} is not installed for {command}{who}, but a check needs {needed} there: {how}")
        if versions and _release(versions[0]) < oldest:
            said = f"{command} has {name} {versions[0]}, but a check needs {needed} there"
            raise Mistake(f"{said}: {_install(command, name, found.get('pip'))}")


def _meant(others: Iterable[str]) -> str:
    """The way to an interpreter that has torch, if there is one nearby."""
    for command in others:
        with suppress(Mistake):
            if asked(command, "", ["torch"])["packages"]["torch"] is not None:
                return f"{_shown(command)} has it: use `--python {shlex.quote(_shown(command))}`"
    return ""


def _shown(command: str) -> str:
    """As one would type it here."""
    here = os.path.relpath(command)
    return here if not here.startswith(os.pardir) else command


def _install(command: str, package: str, pip: list[str] | None) -> str:
    """How to install a package there; an environment without pip is most likely one of uv's."""
    python, word = shlex.quote(command), shlex.quote(f"{package}>={_dotted(NEEDED[package])}")
    how = f"`{python} -m pip install {word}`" if pip is not None else f"`uv pip install --python {python} {word}`"
    if package == "torch" and command == OWN.command:
        return f"name the Python of your program (`--python .venv/bin/python`), or install it ({how})"
    return f"install it ({how})"


def _release(version: str) -> tuple[int, ...]:
    """ "2.13.0+cpu" as (2, 13)."""
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])


def _dotted(release: Sequence[int]) -> str:
    return ".".join(map(str, release))
