"""Commands of the doctor, run for a client: from words, never by a shell, in one folder that they may not leave."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import anyio
from anyio.abc import ByteReceiveStream, Process
from anyio.streams.text import TextReceiveStream

from autograd_doctor.mistakes import Mistake
from autograd_doctor.serving.told_progress import TELLS, Course, told_in

_TICK = 1.0
_TAIL = 20
"""Lines of what the program printed last, for a client that must know why it failed."""
_TO_END = 30.0
"""Seconds for a check that is cancelled to put files back; after that its guardian does."""
Progress = Callable[[float, float | None, str], Awaitable[None]]
"""Is given how far a command has come, of how much if that is known, and words."""


@dataclass(frozen=True)
class Done:
    """What a command printed, and how it ended. `said`: the last lines of standard error, the program's included."""

    exit_code: int
    out: str
    said: list[str]


class Folder:
    """Where targets, settings and reports lie, and whence the commands are run."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()

    def file(self, name: str, what: str) -> str:
        """A path as typed, relative to the folder. Raises `Mistake` if it leads out of it, or looks like an option."""
        if name.startswith("-"):
            raise Mistake(f"{what}: expected a path or a name, found `{name}`")
        whole = (self.path / name).resolve()
        if not whole.is_relative_to(self.path):
            raise Mistake(f"{what}: `{name}` lies outside of {self.path}, the folder that this server was started for")
        return str(whole.relative_to(self.path))

    def target(self, name: str) -> str:
        """A program, notebook, folder, `MODULE:FUNCTION`, or a module's dotted name. Raises `Mistake`."""
        path, colon, function = name.partition(":")
        if colon and not path.endswith(".py"):
            return self.file(name, "target")
        return f"{self.file(path, 'target')}{colon}{function}"


async def run(folder: Folder, words: Sequence[str], progress: Progress) -> Done:
    """Run a command of the doctor to its end; when this is cancelled, so is the check, and its files are put back."""
    process = await anyio.open_process(
        [sys.executable, "-m", "autograd_doctor", *words],
        stdin=subprocess.DEVNULL,
        cwd=folder.path,
        env={**os.environ, "NO_COLOR": "1", TELLS: str(os.getpid())},
        start_new_session=True,
    )
    out: list[str] = []
    said: deque[str] = deque(maxlen=_TAIL)
    course = Course(anyio.current_time())

    def heard(line: str) -> None:
        text, told = told_in(line)
        if told is not None:
            course.add(told, anyio.current_time())
        if text or told is None:
            said.append(text)

    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_report, course, progress)
            async with anyio.create_task_group() as readers:
                readers.start_soon(_read, process.stdout, out.append)
                readers.start_soon(_read_lines, process.stderr, heard)
            await process.wait()
            tasks.cancel_scope.cancel()
    except anyio.get_cancelled_exc_class():
        with anyio.CancelScope(shield=True):
            await _end(process)
        raise
    return Done(process.returncode or 0, "".join(out), list(said))


async def _read(stream: ByteReceiveStream | None, take: Callable[[str], None]) -> None:
    if stream is not None:
        async for text in TextReceiveStream(stream, errors="replace"):
            take(text)


async def _read_lines(stream: ByteReceiveStream | None, take: Callable[[str], None]) -> None:
    begun = ""

    def split(text: str) -> None:
        nonlocal begun
        *lines, begun = (begun + text).split("\n")
        for line in lines:
            take(line)

    await _read(stream, split)
    if begun:
        take(begun)


async def _report(course: Course, progress: Progress) -> None:
    """Once a second, so that a client knows that it has not been forgotten."""
    while True:
        await anyio.sleep(_TICK)
        await progress(*course.at(anyio.current_time()))


async def _end(process: Process) -> None:
    """As Ctrl-C in a terminal would; then hard."""
    with suppress(ProcessLookupError):
        process.send_signal(signal.SIGINT)
    with anyio.move_on_after(_TO_END):
        await process.wait()
        return
    with suppress(ProcessLookupError):
        process.kill()
    await process.wait()
