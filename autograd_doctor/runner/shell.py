"""What a notebook finds of IPython: `get_ipython()` and `display`, as far as they matter to a training run."""

from __future__ import annotations

import builtins
import io
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from autograd_doctor.notebook.magics import DONE_BY_THE_SHELL, TIMED

_VARIABLE = re.compile(r"\{(\w+)\}|\$(\w+)")


def display(*values: Any, **_: Any) -> None:
    """Show values as text: nobody looks at pictures in a terminal."""
    for value in values:
        try:
            text = repr(value)
        except Exception as error:  # as in a notebook, which shows the failure and goes on
            text = f"<{type(value).__name__} whose repr raised {type(error).__name__}>"
        print(text)


class Shell:
    """Answers to `get_ipython()`. Carries out the few magics that later cells may depend on; others do nothing."""

    def __init__(self, variables: dict[str, Any], skipped: Callable[[str], None]) -> None:
        self.user_ns = variables
        self.config: dict[str, Any] = {}
        self._skipped = skipped

    def run_line_magic(self, name: str, line: str, *_: Any) -> Any:
        name = name.lstrip("%")
        if name in TIMED:
            exec(compile(line, "<string>", "exec", dont_inherit=True), self.user_ns)
            return None
        if name not in DONE_BY_THE_SHELL:
            self._skipped(f"%{name} {line}".rstrip())
            return None
        text = _VARIABLE.sub(self._expanded, line)
        if name == "cd":
            return self._cd(text)
        return self._run(text) if name == "run" else self._env(text)

    def magic(self, line: str) -> Any:
        return self.run_line_magic(*line.lstrip("%").partition(" ")[::2])

    def run_cell_magic(self, name: str, line: str, cell: str) -> None:
        self._skipped(f"%%{name} {line}".rstrip())

    def system(self, command: str) -> None:
        self._skipped(f"!{command}")

    def getoutput(self, command: str, *_: Any) -> list[str]:
        self._skipped(f"!{command}")
        return []

    def captured(self) -> Captured:
        return Captured()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return _Nothing()

    def _expanded(self, match: re.Match[str]) -> str:
        """`{name}` and `$name` stand for variables of the notebook."""
        name = match[1] or match[2]
        return str(self.user_ns[name]) if name in self.user_ns else match[0]

    def _cd(self, line: str) -> None:
        folder = os.path.expanduser(line.strip().strip("'\"") or "~")
        try:
            os.chdir(folder)
        except OSError as error:  # IPython prints it and goes on, too
            print(error, file=sys.stderr)

    def _env(self, line: str) -> Any:
        name, equals, value = line.partition("=")
        if not equals:
            name, _, value = line.strip().partition(" ")
        if not value:
            return os.environ.get(name.strip()) if name.strip() else dict(os.environ)
        os.environ[name.strip()] = value.strip()
        return None

    def _run(self, line: str) -> None:
        """Run a script as `__main__`, and give the notebook what it has defined."""
        words = shlex.split(line)
        options = [word for word in words[:1] if word == "-i"]
        file, *arguments = words[len(options) :] or [""]
        if not file.endswith(".py") and os.path.isfile(f"{file}.py"):
            file += ".py"
        if not file.endswith(".py"):
            self._skipped(f"%run {line}")
            return
        with io.open_code(os.path.abspath(file)) as opened:
            code = compile(opened.read(), os.path.abspath(file), "exec", dont_inherit=True)
        fresh = {"__name__": "__main__", "__builtins__": builtins}
        variables = self.user_ns if options else fresh
        with _as_program([file, *arguments], variables):
            exec(code, variables)
        self.user_ns.update({name: value for name, value in variables.items() if not name.startswith("__")})


@contextmanager
def _as_program(argv: list[str], variables: dict[str, Any]) -> Iterator[None]:
    before, file = sys.argv[:], variables.get("__file__")
    sys.argv[:], variables["__file__"] = argv, os.path.abspath(argv[0])
    try:
        yield
    finally:
        sys.argv[:] = before
        del variables["__file__"]
        if file is not None:
            variables["__file__"] = file


class Captured:
    """What `%%capture` hands out: empty, for the output was shown."""

    stdout = stderr = ""
    outputs: tuple[Any, ...] = ()

    def show(self) -> None:
        return

    __call__ = show


class _Nothing:
    """Anything else of IPython's: may be called, asked and set, and does nothing."""

    def __call__(self, *_: Any, **__: Any) -> _Nothing:
        return self

    def __getattr__(self, name: str) -> _Nothing:
        if name.startswith("_"):
            raise AttributeError(name)
        return self
