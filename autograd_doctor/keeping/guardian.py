"""A small process beside a check: when the check is killed, it ends what that has started, and puts everything back.

It waits for the end of its standard input. A byte that comes first says that there is nothing to do.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Self

from autograd_doctor.keeping.adopted import our_processes
from autograd_doctor.keeping.descendants import end_all
from autograd_doctor.keeping.workspace import end_abandoned
from autograd_doctor.own_python import own_python

_MODULE = "autograd_doctor.keeping.guardian"


class Guardian:
    """The process, as long as the context lasts. It leads a session of its own: no Ctrl-C reaches it."""

    def __init__(self, child: int, mark: str, scratch: str) -> None:
        self._process = subprocess.Popen(
            own_python(_MODULE, str(child), mark, os.path.abspath(scratch)),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        our_processes.add(self._process.pid)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._process.communicate(b".")
        our_processes.discard(self._process.pid)


def main() -> None:
    """Of a process with the child's number, the mark of what it starts, and the scratch folder as arguments."""
    child, mark, scratch = sys.argv[1:]
    if not sys.stdin.buffer.read(1):
        end_all(int(child), mark)
        end_abandoned(Path(scratch))
