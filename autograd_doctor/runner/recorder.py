"""Writing the trace from inside somebody else's program."""

from __future__ import annotations

import sys
from pathlib import Path

from autograd_doctor.events import Event
from autograd_doctor.trace import TraceWriter


class Recorder:
    """A trace writer whose troubles never reach the program: a full disk ends the recording, not the training."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._writer = TraceWriter(path.open("ab"))
        self._lost = False

    def write(self, event: Event) -> None:
        if self._lost:
            return
        try:
            self._writer.write(event)
        except (OSError, ValueError) as error:
            self._lost = True
            print(f"autograd_doctor: cannot go on writing {self._path}: {error}", file=sys.__stderr__)
