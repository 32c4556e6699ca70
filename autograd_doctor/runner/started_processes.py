"""Counts the processes that the program starts, in which it may train unseen."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from typing import Any

from autograd_doctor.events.run import ProcessStarted
from autograd_doctor.instruments.session import Session
from autograd_doctor.signals.patches import Patches


class Processes:
    """Emits an event for each fork, each other process of `multiprocessing`, and each Python run as a command."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._process = os.getpid()

    def count(self, patches: Patches) -> None:
        os.register_at_fork(after_in_parent=lambda: self._started("fork"))
        patches.replace(BaseProcess, "start", self._starting(BaseProcess.start))
        patches.replace(subprocess.Popen, "__init__", self._opening(subprocess.Popen.__init__))

    def _starting(self, original: Callable[[BaseProcess], None]) -> Callable[[BaseProcess], None]:
        @functools.wraps(original)
        def start(process: BaseProcess) -> None:
            original(process)
            if process._popen.method != "fork":  # type: ignore[attr-defined]
                self._started(process._popen.method)  # type: ignore[attr-defined]

        return start

    def _opening(self, original: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(original)
        def __init__(opened: Any, args: Any, *rest: Any, **options: Any) -> None:  # noqa: N807
            original(opened, args, *rest, **options)
            if isinstance(args, list | tuple) and args and _is_python(args[0]):
                self._started("command")

        return __init__

    def _started(self, how: Any) -> None:
        if os.getpid() == self._process:
            self._session.emit(ProcessStarted(step=self._session.step, how=how))


def _is_python(command: Any) -> bool:
    return isinstance(command, str | os.PathLike) and os.path.realpath(command) == os.path.realpath(sys.executable)
