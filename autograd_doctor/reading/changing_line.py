"""Which line of the program changes something, found by looking after each of its lines."""

from __future__ import annotations

import contextlib
import dis
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FrameType, MethodType
from typing import Any

from autograd_doctor.findings import Location
from autograd_doctor.reading.places import innermost, is_own, lines_of
from autograd_doctor.reading.without_running import is_a

_OURS = "autograd_doctor."


class ChangingLine:
    """Traces the program's lines from `begin` to `end`, unless something else does that already.

    state: what is looked at, to be called between any two lines. found: the line after which it was another. in_call:
    it ends by itself with the first function of the program that is called, however that ends.
    """

    def __init__(self, state: Callable[[], object], *, in_call: bool = False) -> None:
        self._state = state
        self._in_call = in_call
        self._call: FrameType | None = None
        self._before = state()
        self.found: Location | None = None
        self._code: CodeType | None = None

    def begin(self) -> bool:
        """Whether it traces from here on."""
        if sys.gettrace() is not None:
            return False
        sys.settrace(self._entered)
        return True

    def end(self) -> None:
        if sys.gettrace() == self._entered:
            sys.settrace(None)

    def assigns_to(self, attribute: str) -> bool:
        """Whether the line says that it puts something into this attribute, as `self.rows[i] = row` does.

        `row = self.rows[i]` and `row /= 2` say no such thing, nor does `self.rows[i] /= 2`.
        """
        if self._code is None or self.found is None:
            return False
        line = self.found.line
        there = [each for each in dis.get_instructions(self._code) if each.positions and each.positions.lineno == line]
        names = {each.argval for each in there if each.opname in ("LOAD_ATTR", "LOAD_METHOD")}
        puts = "copy_" in names or any(each.opname == "STORE_SUBSCR" for each in there)
        in_place = any(each.opname == "BINARY_OP" and each.argrepr.endswith("=") for each in there)
        return puts and attribute in names and not in_place

    def _entered(self, frame: FrameType, event: str, argument: Any) -> Callable[..., Any] | None:
        """A function is about to run: of the program's own, every line is looked at. Generated code has none.

        What has changed by now, the line did that calls it, maybe by way of torch.
        """
        path = frame.f_code.co_filename
        if self.found is not None or path.startswith("<") or not is_own(path):
            return None
        caller = innermost(frame.f_back)
        if caller is not None and self._state() != self._before:
            self._code, self.found = caller.f_code, lines_of(caller.f_code, caller.f_lineno)
            return None
        line = frame.f_lineno
        self._call = (self._call or frame) if self._in_call else None

        def traced(frame: FrameType, event: str, argument: Any) -> Callable[..., Any] | None:
            nonlocal line
            state = self._state()
            if self.found is None and state != self._before:
                self._code, self.found = frame.f_code, lines_of(frame.f_code, line)
            self._before, line = state, frame.f_lineno
            if event == "return" and frame is self._call:
                self._call = None
                self.end()
            return traced if self.found is None or self._in_call else None

        return traced


@contextlib.contextmanager
def untraced() -> Iterator[None]:
    """A block in which none of ours traces the program, so that another can: what runs in it is no part of that."""
    tracer = sys.gettrace()
    is_ours = is_a(tracer, MethodType) and type(tracer.__self__).__module__.startswith(_OURS)  # type: ignore[union-attr]
    if is_ours:
        sys.settrace(None)
    try:
        yield
    finally:
        if is_ours:
            sys.settrace(tracer)
