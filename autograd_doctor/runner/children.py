"""The processes that the program starts: each that may train is watched as the program itself is, and writes a trace.

Those of `multiprocessing` begin in `_bootstrap`, in whichever way they are started; Python as a command is started by
way of `member.main`. Nothing here needs torch: launchers, and helpers that never import it, run as they are.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing import popen_fork
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Protocol

from autograd_doctor import system
from autograd_doctor.own_python import PACKAGE, own_program
from autograd_doctor.runner.spawned import do_first

_MODULE = "autograd_doctor.runner.member"
_FIRST = "from autograd_doctor.runner.children import watch_children; watch_children({plan!r})"
_WITHOUT_VALUE = frozenset("bBdEIOPqRsSuv")
_WITH_VALUE = ("-W", "-X")
_HEAD = 512
_CALLS_US = f"from {PACKAGE}.cli import".encode()
"""In the commands that an installer writes for us."""


class Told(Protocol):
    """Who hears of processes."""

    def started(self, how: str, watched: bool) -> None:
        """One was started."""

    def ended(self, process: int, exit_code: int) -> None:
        """One that is watched was found to have ended otherwise than well."""


class _Children:
    """This process as one that starts others."""

    is_set_up = False
    plan = ""
    told: Told | None = None
    leave: Callable[[], None] | None = None
    forks = False
    """Whether `multiprocessing` forks a process at present that will be watched."""

    def started(self, how: str, watched: bool) -> None:
        if self.told is not None:
            self.told.started(how, watched)

    def ended(self, process: int, exit_code: int | None) -> None:
        if self.told is not None and exit_code:
            self.told.ended(process, exit_code)


_children = _Children()
_seen_to_end: set[int] = set()


def watch_children(plan: str, told: Told | None = None, leave: Callable[[], None] | None = None) -> None:
    """From now on, what this process starts is counted, and watched if there is a plan for it.

    plan: the file of the plan that its processes run under, empty where they are only counted. leave: what takes the
    instruments of this process out of one that it forks.
    """
    is_first = not _children.is_set_up
    _children.is_set_up = True
    _children.plan, _children.told, _children.leave = plan, told, leave
    if not is_first:
        return
    system.after_fork(after_in_parent=lambda: _children.started("fork", _children.forks))
    BaseProcess.start = _starting(BaseProcess.start)  # type: ignore[method-assign,assignment]
    BaseProcess._bootstrap = _beginning(BaseProcess._bootstrap)  # type: ignore[attr-defined]
    popen_fork.Popen.poll = _polling(popen_fork.Popen.poll)  # type: ignore[method-assign]
    subprocess.Popen.__init__ = _opening(subprocess.Popen.__init__)  # type: ignore[method-assign]
    subprocess.Popen._handle_exitstatus = _ending(subprocess.Popen._handle_exitstatus)  # type: ignore[attr-defined]
    if plan:
        do_first(_FIRST.format(plan=plan))


def _starting(original: Callable[[BaseProcess], None]) -> Callable[[BaseProcess], None]:
    @functools.wraps(original)
    def start(process: BaseProcess) -> None:
        watched = _children.forks = bool(_children.plan) and not _only_loads(process)
        try:
            original(process)
        finally:
            _children.forks = False
        if process._popen.method != "fork":  # type: ignore[attr-defined]
            _children.started(process._popen.method, watched)  # type: ignore[attr-defined]

    return start


def _beginning(original: Callable[..., int]) -> Callable[..., int]:
    """In the new process, whichever way it came to be."""

    @functools.wraps(original)
    def _bootstrap(process: Any, *arguments: Any, **options: Any) -> int:
        if _children.plan and not _only_loads(process):
            from autograd_doctor.runner.member import Member

            forked = _children.leave is not None
            if _children.leave is not None:
                _children.leave()
            process.run = functools.partial(Member(_children.plan, forked=forked).run, process.run)
        return original(process, *arguments, **options)

    return _bootstrap


def _only_loads(process: Any) -> bool:
    """Whether it is a worker of a `DataLoader`."""
    workers = sys.modules.get("torch.utils.data._utils.worker")
    return workers is not None and process._target is workers._worker_loop


def _opening(original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def __init__(opened: Any, args: Any, *rest: Any, **options: Any) -> None:  # noqa: N807
        ours = None
        if _children.plan and not rest and not options.get("shell") and options.get("executable") is None:
            with suppress(TypeError, ValueError, OSError):
                ours = _as_member(args, _children.plan)
        original(opened, ours or args, *rest, **options)
        if ours:
            opened.args = args
        if ours or (isinstance(args, list | tuple) and args and _is_python(args[0])):
            _children.started("command", bool(ours))

    return __init__


def _ending(original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def _handle_exitstatus(opened: Any, *arguments: Any, **options: Any) -> None:
        original(opened, *arguments, **options)
        _children.ended(opened.pid, opened.returncode)

    return _handle_exitstatus


def _polling(original: Callable[..., int | None]) -> Callable[..., int | None]:
    @functools.wraps(original)
    def poll(opened: Any, *arguments: Any, **options: Any) -> int | None:
        code = original(opened, *arguments, **options)
        if code and opened.pid not in _seen_to_end:
            _seen_to_end.add(opened.pid)
            _children.ended(opened.pid, code)
        return code

    return poll


def _as_member(command: Any, plan: str) -> list[str] | None:
    """The command that runs a script or module of Python's under the plan, None for what is no such command."""
    if not isinstance(command, list | tuple) or not command:
        return None
    words = [os.fspath(word) for word in command]
    if not all(isinstance(word, str) for word in words):
        return None
    if not _is_python(words[0]):
        found = shutil.which(words[0])
        if found is None or not _is_run_by_us(found):
            return None
        words = [sys.executable, found, *words[1:]]
    after = _options(words)
    if after >= len(words) or (words[after].startswith("-") and words[after] != "-m"):
        return None
    kind, rest = ("module", words[after + 1 :]) if words[after] == "-m" else ("script", words[after:])
    if not rest or _is_a_check(kind, rest[0]):
        return None
    return [words[0], *words[1:after], *own_program(_MODULE, plan, kind, *rest)]


def _is_a_check(kind: str, name: str) -> bool:
    """Whether a module or script is the doctor's own command, which watches what it runs by itself."""
    if kind == "module":
        return name == PACKAGE
    return _CALLS_US in _head(name)


def _options(words: Sequence[str]) -> int:
    """Where the options of the interpreter end that we know to pass on."""
    number = 1
    while number < len(words):
        word = words[number]
        if word in _WITH_VALUE:
            number += 2
        elif word.startswith(_WITH_VALUE) or (len(word) > 1 and word[0] == "-" and _WITHOUT_VALUE.issuperset(word[1:])):
            number += 1
        else:
            break
    return number


def _is_python(command: Any) -> bool:
    """Whether this is the very interpreter that runs here, under one of its names."""
    if not isinstance(command, str | os.PathLike):
        return False
    found = shutil.which(os.fspath(command))
    if found is None or os.path.realpath(found) != os.path.realpath(sys.executable):
        return False
    return os.path.dirname(os.path.abspath(found)) == os.path.dirname(os.path.abspath(sys.executable))


def _is_run_by_us(script: str) -> bool:
    """Whether the first line of a command names this interpreter, as those of `torchrun` and `accelerate` do."""
    first = _head(script).partition(b"\n")[0]
    words = first[2:].split() if first.startswith(b"#!") else []
    return len(words) == 1 and _is_python(os.fsdecode(words[0]))


def _head(script: str) -> bytes:
    """How a file begins; nothing of what cannot be read."""
    with suppress(OSError), Path(script).open("rb") as file:
        return file.read(_HEAD)
    return b""
