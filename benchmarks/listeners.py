"""Where the time of a step goes under the doctor: by instrument and handler, their own time alone.

    python benchmarks/listeners.py "tiny mlp" recorded [--steps 200] [--top 25]

Timing costs some tenths of a microsecond for each call of a handler, so that those which are called for each operation
look dearer than they are. What seams, looks and operations that rest cost is no handler's.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable
from functools import wraps
from typing import Any
from unittest.mock import patch

import torch
from overhead import SETTLING, WAYS, WORKLOADS

from autograd_doctor.signals.signal import Signal


class Times:
    """Nanoseconds and calls of each handler, without what it calls other handlers for."""

    def __init__(self) -> None:
        self.own: Counter[str] = Counter()
        self.calls: Counter[str] = Counter()
        self._of_callees = [0]

    def clear(self) -> None:
        self.own.clear()
        self.calls.clear()

    def timed(self, handle: Callable[[Any], None]) -> Callable[[Any], None]:
        name = handle.__qualname__

        @wraps(handle)
        def timed(what: Any) -> None:
            self._of_callees.append(0)
            began = time.perf_counter_ns()
            try:
                handle(what)
            finally:
                took = time.perf_counter_ns() - began
                self.own[name] += took - self._of_callees.pop()
                self._of_callees[-1] += took
                self.calls[name] += 1

        return timed


def measured(workload: Callable[[], Any], way: str, steps: int) -> tuple[Times, float]:
    """The times of all handlers in so many steps, and the seconds that these took."""
    times, handlers = Times(), dict[Callable[[Any], None], Callable[[Any], None]]()
    connect, disconnect = Signal.connect, Signal.disconnect

    def connect_timed(signal: Signal[Any], handle: Callable[[Any], None], **options: Any) -> None:
        connect(signal, handlers.setdefault(handle, times.timed(handle)), **options)

    def disconnect_timed(signal: Signal[Any], handle: Callable[[Any], None]) -> None:
        disconnect(signal, handlers.get(handle, handle))

    with patch.multiple(Signal, connect=connect_timed, disconnect=disconnect_timed), WAYS[way]():
        step = workload().make()
        for _ in range(SETTLING):
            step()
        times.clear()
        began = time.perf_counter()
        for _ in range(steps):
            step()
        return times, time.perf_counter() - began


def main() -> None:
    names = {make.__name__.replace("_", " "): make for make in WORKLOADS}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workload", choices=names)
    parser.add_argument("way", choices=[way for way in WAYS if way not in ("plain", "anomaly mode")])
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--top", type=int, default=25)
    options = parser.parse_args()
    torch.manual_seed(0)
    times, seconds = measured(names[options.workload], options.way, options.steps)
    in_all = sum(times.own.values())
    print(f"{seconds / options.steps * 1e6:.0f} us a step, of which {in_all / options.steps / 1e3:.0f} in handlers")
    for name, own in times.own.most_common(options.top):
        print(f"{own / options.steps / 1e3:9.1f} us {times.calls[name] / options.steps:8.2f} calls  {name}")


if __name__ == "__main__":
    main()
