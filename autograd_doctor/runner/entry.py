"""What the parent starts, with the file of a plan as its argument."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

import msgspec

from autograd_doctor.plan import Plan
from autograd_doctor.runner.run import run

_PR_SET_PDEATHSIG = 1


def main() -> int:
    """Run the program of the plan; returns its exit code."""
    _end_with_parent()
    return run(msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=Plan))


def _end_with_parent() -> None:
    """Where the system offers it, this process is killed when its parent dies, whatever it does then."""
    parent = os.getppid()
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)
