"""Which line of the program changes something, found by looking after each of its lines."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from autograd_doctor.findings import Location
from autograd_doctor.reading.places import is_own, lines_of


class ChangingLine:
    """Traces the program's lines from `begin` to `end`, unless something else does that already.

    state: what is looked at, to be called between any two lines. found: the line after which it was another.
    """

    def __init__(self, state: Callable[[], object]) -> None:
        self._state = state
        self._before = state()
        self.found: Location | None = None

    def begin(self) -> bool:
        """Whether it traces from here on."""
        if sys.gettrace() is not None:
            return False
        sys.settrace(self._entered)
        return True

    def end(self) -> None:
        if sys.gettrace() == self._entered:
            sys.settrace(None)

    def _entered(self, frame: FrameType, event: str, argument: Any) -> Callable[..., Any] | None:
        """A function is about to run: of the program's own, every line is looked at. Generated code has none."""
        path = frame.f_code.co_filename
        if self.found is not None or path.startswith("<") or not is_own(path):
            return None
        line = frame.f_lineno

        def traced(frame: FrameType, event: str, argument: Any) -> Callable[..., Any] | None:
            nonlocal line
            state = self._state()
            if self.found is None and state != self._before:
                self.found = lines_of(frame.f_code, line)
            self._before, line = state, frame.f_lineno
            return traced if self.found is None else None

        return traced
