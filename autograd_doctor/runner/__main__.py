"""`python -m autograd_doctor.runner PLAN_FILE`: what the parent starts."""

from __future__ import annotations

import sys

if __name__ == "__main__" and not sys.flags.safe_path:
    # `-m` has put the working folder in front: a file of the user's there must not shadow what is imported below.
    del sys.path[0]

import ctypes
import os
import signal
from contextlib import suppress
from pathlib import Path

import msgspec

from autograd_doctor.plan import Plan
from autograd_doctor.runner.run import run

__all__ = ["run"]


_PR_SET_PDEATHSIG = 1


def main() -> int:
    _end_with_parent()
    return run(msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=Plan))


def _end_with_parent() -> None:
    """Where the system offers it, this process is killed when its parent dies, whatever it does then."""
    parent = os.getppid()
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main())
