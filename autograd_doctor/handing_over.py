"""How a child that has been started already gets its plan: by a pipe, or a file where pipes cannot be passed on."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from autograd_doctor import system
from autograd_doctor.clock import CLOCK

_BETWEEN_LOOKS = 0.01
_PLAN = "plan"


class Handover:
    """The parent's end. `name` is what the child is told; `options` are those with which it is started."""

    def __init__(self) -> None:
        self._folder = ""
        self._theirs = self._ours = -1
        self.options: dict[str, Any] = {}
        if system.CAN_PASS_ON:
            self._theirs, self._ours = os.pipe()
            self.name = str(self._theirs)
            self.options = {"pass_fds": (self._theirs,)}
        else:
            self._folder = tempfile.mkdtemp(prefix="autograd-doctor-plan-")
            self.name = os.path.join(self._folder, _PLAN)

    def started(self) -> None:
        """The child has its end."""
        if self._theirs >= 0:
            os.close(self._theirs)

    def give(self, plan: bytes) -> None:
        """Whole or not at all. A child that is dead already says so by its exit code."""
        if self._folder:
            unfinished = f"{self.name}.new"
            Path(unfinished).write_bytes(plan)
            os.replace(unfinished, self.name)
            return
        with suppress(BrokenPipeError):
            while plan:
                plan = plan[os.write(self._ours, plan) :]
        self._close()

    def over(self) -> None:
        """Nothing more is given."""
        self._close()
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _close(self) -> None:
        if self._ours >= 0:
            os.close(self._ours)
            self._ours = -1


def received(name: str) -> bytes:
    """What the parent has given, once it has; a child whose parent is gone waits no longer. Raises `OSError`."""
    if name.isdigit():
        with open(int(name), "rb") as pipe:
            return pipe.read()
    parent = os.getppid()
    while not os.path.exists(name) and os.getppid() == parent:
        CLOCK.sleep(_BETWEEN_LOOKS)
    return Path(name).read_bytes()
