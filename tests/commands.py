"""The command line in processes that have torch imported already, for what does not depend on how a process begins."""

from __future__ import annotations

import atexit
import json
import os
import resource
import runpy
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from multiprocessing import resource_tracker
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

from tests.harness import PATIENCE, ROOT, forked, leave_tests

_RUNNER = "autograd_doctor.runner.entry"
_ALWAYS_SEARCHED = [each for each in sys.path if each not in ("", str(ROOT))]


def doctor(
    *arguments: str | os.PathLike[str],
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float = PATIENCE,
    room: int = 0,
) -> subprocess.CompletedProcess[str]:
    """`python -m autograd_doctor` with these arguments, and the program that it checks.

    `room`: the largest file that they may write, in bytes.
    """
    words = [os.fspath(each) for each in arguments]
    with tempfile.TemporaryDirectory() as name:
        out, err = Path(name, "out"), Path(name, "err")
        where = str(cwd or Path.cwd())
        process = forked(_command, words, where, dict(env or os.environ), str(out), str(err), room)
        process.join(timeout)
        if process.exitcode is None:
            process.kill()
            raise subprocess.TimeoutExpired(words, timeout, err.read_bytes())
        return subprocess.CompletedProcess(words, process.exitcode, out.read_text(), err.read_text())


def check_by_command(
    program: Path, *options: str, arguments: Sequence[str] = (), before: Sequence[Path] = ()
) -> tuple[dict[str, Any], int]:
    """The JSON report and the exit code of `doctor check`.

    Modules are looked for in the folders of `before` first.
    """
    always = ("check", "--isolated", "--output-format", "json", "--seconds", "0")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, [*before, ROOT]))}
    with tempfile.TemporaryDirectory() as folder:
        done = doctor(*always, *options, program, *arguments, cwd=Path(folder), env=environment)
    assert done.stdout, f"no report on standard output; standard error was:\n{done.stderr}"
    return json.loads(done.stdout), done.returncode


# ------------------------------------------------------------------------------------------------ in forked processes


def _command(words: Sequence[str], where: str, environment: Mapping[str, str], out: str, err: str, room: int) -> None:
    from autograd_doctor import launch

    for descriptor, path in ((0, os.devnull), (1, out), (2, err)):
        os.dup2(os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND), descriptor)
    if room:
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
    os.chdir(where)
    _be_in(environment, before=[where])
    sys.argv = ["doctor", *words]
    launch.subprocess = SimpleNamespace(**{**vars(subprocess), "Popen": _Forked})
    runpy.run_module("autograd_doctor", run_name="__main__")


class _Forked:
    """What is known of a forked process, as of one that `subprocess.Popen` has started."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        env: Mapping[str, str],
        stdin: int | None = None,
        stdout: int | None = None,
        stderr: int | None = None,
        pass_fds: Sequence[int] = (),
        start_new_session: bool = False,
    ) -> None:
        assert _RUNNER in command
        assert start_new_session
        self.returncode: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            self._run(command[command.index(_RUNNER) :], env, (stdin or 0, stdout or 1, stderr or 2), pass_fds)

    def poll(self) -> int | None:
        if self.returncode is None:
            process, status = os.waitpid(self.pid, os.WNOHANG)
            self.returncode = os.waitstatus_to_exitcode(status) if process else None
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        until = time.monotonic() + (timeout if timeout is not None else float("inf"))
        while (code := self.poll()) is None:
            if time.monotonic() > until:
                raise subprocess.TimeoutExpired("", timeout or 0)
            time.sleep(0.005)
        return code

    @staticmethod
    def _run(
        words: Sequence[str], environment: Mapping[str, str], streams: Sequence[int], kept: Sequence[int]
    ) -> NoReturn:
        """As Python would, from its beginning to its end."""
        os.setsid()
        nowhere = os.open(os.devnull, os.O_RDWR)
        for descriptor, stream in enumerate(streams):
            os.dup2(nowhere if stream == subprocess.DEVNULL else stream, descriptor)
        for descriptor in {int(name) for name in os.listdir("/proc/self/fd")} - {0, 1, 2, *kept}:
            os.close(descriptor) if _is_open(descriptor) else None
        # What the parent's multiprocessing had open is closed.
        resource_tracker._resource_tracker.__init__()  # type: ignore[misc]
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _be_in(environment)
        sys.argv = list(words)
        leave_tests()
        code = 1
        try:
            from autograd_doctor.runner.entry import main

            code = main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        except BaseException:
            sys.excepthook(*sys.exc_info())
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(code)


def _be_in(environment: Mapping[str, str], before: Sequence[str] = ()) -> None:
    """Have the environment, and what Python searches there."""
    named = filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))
    sys.path[:] = dict.fromkeys([*before, *named, *_ALWAYS_SEARCHED])
    os.environ.clear()
    os.environ.update(environment)


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True
