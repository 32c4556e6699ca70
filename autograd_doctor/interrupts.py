"""Ctrl-C, and what else asks a check to end: the first time at once, and then without spoiling the report."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from autograd_doctor.system import INTERRUPTS


class Interrupts:
    """Raises `KeyboardInterrupt` the first time, and counts. keeps: nothing is cut off from the first `held` on."""

    def __init__(self, *, keeps: bool = False) -> None:
        self.count = 0
        self._keeps = keeps
        self._held = False

    @contextmanager
    def held(self) -> Iterator[None]:
        """What must not be cut off, and takes little time."""
        self._held = True
        try:
            yield
        finally:
            self._held = self._keeps

    def hear(self, _number: int, _frame: FrameType | None) -> None:
        self.count += 1
        if self.count == 1 and not self._held:
            raise KeyboardInterrupt


_heard: list[Interrupts] = []


@contextmanager
def interrupts(*, keeps: bool = False) -> Iterator[Interrupts]:
    """SIGINT, SIGTERM and SIGHUP are heard inside, so that no child is left behind. Within another, it is the same."""
    if _heard:
        yield _heard[0]
        return
    heard = Interrupts(keeps=keeps)
    if threading.current_thread() is not threading.main_thread():
        yield heard
        return
    before = {number: signal.signal(number, heard.hear) for number in INTERRUPTS}
    _heard.append(heard)
    try:
        yield heard
    finally:
        _heard.clear()
        for number, handler in before.items():
            signal.signal(number, handler)
