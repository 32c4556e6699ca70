"""Exceptions that the program caught, and that it may then end because of: `except: print_exc(); sys.exit(1)`."""

from __future__ import annotations

import functools
import os
import sys
import traceback
from collections import deque
from collections.abc import Callable
from typing import Any

from autograd_doctor.events.run import ProgramRaised
from autograd_doctor.instruments.session import Session
from autograd_doctor.reading.places import is_own
from autograd_doctor.runner import crash
from autograd_doctor.signals.patches import Patches


class Caught:
    """Says what an exit code other than 0 is owed to, where that was seen.

    That is the exception that is being handled when the program exits, or else the last one whose traceback it had
    formatted, by `traceback` or `logging`, if no step followed. Exceptions are described at once and not kept: they
    would keep the tensors of their frames.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._process = os.getpid()
        self._printed: ProgramRaised | None = None

    def listen(self, patches: Patches) -> None:
        """Learn of every traceback that is formatted: all ways of the standard library lead through one class."""
        formatted = traceback.TracebackException
        patches.replace(formatted, "__init__", self._formatting(formatted.__init__))

    def behind(self, exit: SystemExit) -> ProgramRaised | None:
        """What led to `sys.exit(…)`: no exception that the program has defined and raised by itself, as one by which a
        job that is cut short leaves its loop."""
        handled = exit.__context__
        return (None if handled is None or _is_own(handled) else self._handled(handled)) or self._unanswered()

    def now(self) -> ProgramRaised | None:
        """What leads to an `os._exit(…)` that is being called."""
        return self._handled(sys.exc_info()[1]) or self._unanswered()

    def _unanswered(self) -> ProgramRaised | None:
        return self._printed if self._printed and self._printed.step == self._session.step else None

    def _handled(self, error: BaseException | None) -> ProgramRaised | None:
        if not isinstance(error, Exception):
            return None
        try:
            return crash.raised(error, self._session.signals.guard, self._session.step, caught=True)
        except Exception as failure:
            self._session.failed("runner", "caught", failure)
            return None

    def _formatting(self, original: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(original)
        def __init__(  # noqa: N807
            self_: traceback.TracebackException, exc_type: Any, exc_value: Any, *args: Any, **options: Any
        ) -> None:
            # Those that led to another are formatted together with it.
            if options.get("_seen") is None and os.getpid() == self._process:
                self._note(exc_value)
            original(self_, exc_type, exc_value, *args, **options)

        return __init__

    def _note(self, error: BaseException | None) -> None:
        if isinstance(error, Exception) and error.__traceback__ is not None:
            self._printed = self._handled(error)


def _is_own(error: BaseException) -> bool:
    """Whether a line of the program has raised an exception of a class of the program's."""
    raised_at = deque(traceback.walk_tb(error.__traceback__), maxlen=1)
    defined_in = getattr(sys.modules.get(type(error).__module__), "__file__", None)
    return bool(raised_at and defined_in) and is_own(raised_at[0][0].f_code.co_filename) and is_own(defined_in)
