"""Says which processes the program starts, and which of those that are watched did not end well."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from autograd_doctor.events.run import ProcessEnded, ProcessStarted
from autograd_doctor.instruments.session import Session


class Processes:
    """Emits an event for each fork, each other process of `multiprocessing`, and each Python run as a command.

    are_several: called when one is started that may train with this one.
    """

    def __init__(self, session: Session, are_several: Callable[[], None]) -> None:
        self._session = session
        self._are_several = are_several
        self._process = os.getpid()

    def started(self, how: Any, watched: bool) -> None:
        """One was started."""
        if os.getpid() == self._process:
            self._session.emit(ProcessStarted(step=self._session.step, how=how, watched=watched))
            if watched:
                self._are_several()

    def ended(self, process: int, exit_code: int) -> None:
        """One was found to have ended otherwise than well."""
        if os.getpid() == self._process:
            self._session.emit(ProcessEnded(step=self._session.step, process=process, exit_code=exit_code))
