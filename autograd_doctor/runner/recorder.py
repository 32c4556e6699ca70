"""Writing the trace from inside somebody else's program: where every event gets its stamp."""

from __future__ import annotations

import os
import socket
import sys
import threading
from pathlib import Path

import msgspec

from autograd_doctor import __version__, system
from autograd_doctor.clock import CLOCK
from autograd_doctor.events.event import Event
from autograd_doctor.events.run import RecordingStarted
from autograd_doctor.plan import Plan
from autograd_doctor.recording import FORMAT_LINE, encoded, leave_word


class Recorder:
    """Writes events to the file of a plan; its troubles never reach the program.

    A program may close every descriptor, and open something else under our number: so each write makes sure that the
    descriptor is still that of the trace, and opens it again otherwise. What cannot be written, as on a full disk, ends
    the recording but not the training: the trace then lacks its end, and whoever reads it sees that.
    """

    def __init__(self, plan: Plan) -> None:
        self._path = Path(plan.trace).absolute()
        self._rank = plan.ranks.rank
        self._began = CLOCK.monotonic()
        self._sequence = 0
        self._lost = False
        # A signal handler of the program's may train, hence write, while a write is under way.
        self._lock = threading.RLock()
        self._open(os.O_CREAT)
        self._append(FORMAT_LINE)
        self.write(_header(plan))

    def write(self, event: Event) -> None:
        """Stamp an event and append it. An event counts once it is written, whatever interrupts the thread."""
        with self._lock:
            if self._lost:
                return
            number = self._sequence + 1
            seconds = round(CLOCK.monotonic() - self._began, 6)
            self._append(encoded(msgspec.structs.replace(event, sequence=number, rank=self._rank, time=seconds)))
            self._sequence = number

    def close(self) -> None:
        """Write no more. Where the process lives on, nothing of ours stays open in it."""
        with self._lock:
            if not self._lost and self._is_open():
                os.close(self._descriptor)
            self._lost = True

    def _append(self, data: bytes) -> None:
        try:
            if not self._is_open():
                self._open()
            while data:
                data = data[os.write(self._descriptor, data) :]
        except OSError as error:
            self._lost = True
            leave_word(self._path, error)
            print(f"autograd_doctor: recording in {self._path} stopped: {error.strerror}", file=sys.__stderr__)

    def _open(self, flags: int = 0) -> None:
        self._descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | system.BINARY | flags, 0o600)
        self._file = _identity(self._descriptor)

    def _is_open(self) -> bool:
        try:
            return _identity(self._descriptor) == self._file
        except OSError:
            return False


def _identity(descriptor: int) -> tuple[int, int]:
    facts = os.fstat(descriptor)
    return facts.st_dev, facts.st_ino


def _header(plan: Plan) -> RecordingStarted:
    return RecordingStarted(
        tool=__version__,
        began=CLOCK.time(),
        world_size=plan.ranks.size,
        process=os.getpid(),
        host=socket.gethostname(),
        rules=plan.selected,
        needs=plan.needs,
        steps=plan.steps,
        seconds=plan.seconds,
        max_seconds=plan.max_seconds,
        batches_per_epoch=plan.batches_per_epoch,
        steps_before=plan.steps_before,
    )
