"""The clock as it was before the program ran, whatever the program puts in its place.

What freezes time for tests (freezegun, a patched `time.monotonic`) replaces the functions of `time`, and every name of
a module that leads to one of them; what hangs on an object it leaves alone.
"""

from __future__ import annotations

import time as _time
from collections.abc import Callable
from typing import NamedTuple


class Clock(NamedTuple):
    """The functions of `time` of the same names."""

    monotonic: Callable[[], float] = _time.monotonic
    perf_counter: Callable[[], float] = _time.perf_counter
    process_time: Callable[[], float] = _time.process_time
    sleep: Callable[[float], None] = _time.sleep
    thread_time: Callable[[], float] = _time.thread_time
    time: Callable[[], float] = _time.time
    time_ns: Callable[[], int] = _time.time_ns


CLOCK = Clock()
