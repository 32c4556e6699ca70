"""`doctor gradcheck`: which function, on which inputs; the rest goes the way of `doctor check`."""

from __future__ import annotations

from collections.abc import Sequence

from autograd_doctor import target
from autograd_doctor.command import checking
from autograd_doctor.command.job import interpreter_of
from autograd_doctor.command.request import Request, load_settings
from autograd_doctor.config import Loaded
from autograd_doctor.config_file import describe
from autograd_doctor.interpreter import OWN, Interpreter
from autograd_doctor.mistakes import Mistake
from autograd_doctor.plan import Target
from autograd_doctor.settings import function_inputs


def gradcheck(request: Request, function: str, inputs: Sequence[str], *, double: bool) -> int:
    """Judge a function of `request.name`, a file or a module; returns the exit code. Raises `Mistake`."""
    loaded = load_settings(request)
    python = interpreter_of(request, loaded)
    check_is_there(request.name, python)
    name = f"{request.name}:{function}"
    words, where = (inputs, "--input") if inputs else _from_settings(loaded, name)
    plan = function_inputs.plan(words, where, double=double)
    options = [part for word in words for part in ("--input", word)] + ["--double"] * double
    return checking.run(request, loaded, Target("function", name, options), function=plan, python=python)


def find(name: str) -> tuple[str, str, bool]:
    """The parts of `MODULE:FUNCTION`, and whether the first is a dotted name rather than a file. Raises `Mistake`."""
    where, _, function = name.rpartition(":")
    if not where or not all(part.isidentifier() for part in function.split(".")):
        raise Mistake(f"{name}: expected MODULE:FUNCTION, as in `ops.py:Cube` or `package.ops:Cube`")
    return where, function, _is_module(where)


def check_is_there(where: str, python: Interpreter = OWN) -> None:
    """Raises `Mistake` for a file or module that is not there, or is no Python."""
    if _is_module(where):
        target.find_module(where, python)
    else:
        target.script(where, [], python)


def _is_module(where: str) -> bool:
    return not where.endswith(".py") and "/" not in where


def _from_settings(loaded: Loaded, name: str) -> tuple[list[str], str]:
    """The inputs that the settings give for a function, by its whole name or by what comes after the colon."""
    section = loaded.settings.gradcheck
    key = next((key for key in (name, name.rpartition(":")[2]) if key in section), "")
    words, where = section.get(key, []), f"{loaded.where('gradcheck')}.{key}"
    if not isinstance(words, list):
        raise Mistake(f"{where}: expected a list of inputs, found {describe(words)}")
    for word in words:
        if not isinstance(word, str):
            raise Mistake(f'{where}: expected inputs as text, such as "3,4", found {describe(word)}')
    return words, where
