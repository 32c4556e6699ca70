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
from collections.abc import Callable, Mapping, Sequence
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
    return _ended(_command, words, cwd or Path.cwd(), dict(env or os.environ), room, timeout=timeout)


def python(
    script: str, *arguments: str, cwd: Path, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """`python` with a script and its arguments."""
    return _ended(_script, [script, *arguments], cwd, dict(env or os.environ), timeout=PATIENCE)


def _ended(
    begin: Callable[..., None], words: Sequence[str], where: Path, *rest: Any, timeout: float
) -> subprocess.CompletedProcess[str]:
    with tempfile.TemporaryDirectory() as name:
        out, err = Path(name, "out"), Path(name, "err")
        process = forked(begin, (str(out), str(err)), words, str(where), *rest)
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


def _command(files: Sequence[str], words: Sequence[str], where: str, environment: Mapping[str, str], room: int) -> None:
    from autograd_doctor import launch

    _begin(files, where, environment)
    if room:
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
    sys.argv = ["doctor", *words]
    launch.subprocess = SimpleNamespace(**{**vars(subprocess), "Popen": _Forked})
    runpy.run_module("autograd_doctor", run_name="__main__")


def _script(files: Sequence[str], words: Sequence[str], where: str, environment: Mapping[str, str]) -> NoReturn:
    from autograd_doctor.plan import Target
    from autograd_doctor.runner.program import become_main, load

    _begin(files, where, environment)
    leave_tests()
    script, *arguments = words
    program = load(Target("script", script, arguments))
    become_main(program)

    def run() -> int:
        try:
            program.execute()
        except Exception as error:
            entries = error.__traceback__
            while entries is not None and entries.tb_frame.f_code is not program.code:
                entries = entries.tb_next
            sys.last_type, sys.last_value, sys.last_traceback = type(error), error, entries
            sys.excepthook(type(error), error, entries)
            return 1
        return 0

    _end_with(run)


# A file name that belongs to nobody: otherwise the frame below the program's would count as the user's own.
_script.__code__ = _script.__code__.replace(co_filename="<harness>")


def _begin(files: Sequence[str], where: str, environment: Mapping[str, str]) -> None:
    for descriptor, path in enumerate((os.devnull, *files)):
        os.dup2(os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND), descriptor)
    os.chdir(where)
    _be_in(environment, before=[where])


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
        begun, begins = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.setsid()
            os.close(begins)
            self._run(command[command.index(_RUNNER) :], env, (stdin or 0, stdout or 1, stderr or 2), pass_fds)
        # `Popen` returns when the process leads its session: a signal to that would reach nobody before.
        os.close(begins)
        os.read(begun, 1)
        os.close(begun)

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

        from autograd_doctor.runner.entry import main

        _end_with(main)


def _end_with(run: Callable[[], int]) -> NoReturn:
    """As Python ends."""
    code = 1
    try:
        code = run()
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
