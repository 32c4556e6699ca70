"""Groups of processes, whose threads must have let go of what is ours before they go."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from autograd_doctor.clock import CLOCK
from autograd_doctor.instruments.session import Session
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.signals.patches import Patches

_TO_LET_GO = 0.05
"""Seconds in which threads of a group let go of what the program gave them, such as hooks that hold the group: the last
one to do so after the group is gone would wait for itself. Our looks keep them from Python's lock for longer than the
program alone would."""


class Groups:
    """After each step, and before a group goes: see `Operations.await_threads`."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def listen(self, patches: Patches) -> None:
        course = self._session.find(Course)
        if course is not None:
            course.step_taken.connect(self._step_taken, owner="runner")
        groups = sys.modules.get("torch.distributed.distributed_c10d")
        if groups is not None:
            patches.replace(groups, "_update_default_pg", self._changing(groups._update_default_pg))

    def _step_taken(self, course: Course) -> None:
        distributed = sys.modules.get("torch.distributed")
        if distributed is not None and distributed.is_available() and distributed.is_initialized():
            self._session.signals.operations.await_threads()

    def _changing(self, original: Callable[[Any], None]) -> Callable[[Any], None]:
        """A group becomes the one that all use, or, when they are destroyed, none does."""

        @functools.wraps(original)
        def _update_default_pg(group: Any) -> None:
            self._session.signals.operations.await_threads()
            if group is None:
                CLOCK.sleep(_TO_LET_GO)
            original(group)

        return _update_default_pg
