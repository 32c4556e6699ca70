"""Which line of the program puts something into a container: seen by looking at the container after every line.

The lines of the user's frames are followed with `sys.settrace`, for a few steps and only until the line is found. A
program that has a tracer of its own keeps it.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Hashable, Iterable, Mapping, Sequence
from types import CodeType, FrameType
from typing import Any, NamedTuple, Protocol

from autograd_doctor.findings import Location
from autograd_doctor.reading.places import is_own, lines_of, own_frames
from autograd_doctor.reading.without_running import is_a

_ONLY_OURS = 2  # the reference of the watch, and the one that counting takes
_SIMPLE_KEYS = (str, int)
_MOST_CALLS = 300_000
"""Calls of functions, anybody's, to follow for what is sought: a tenth of a second."""


class Process(Protocol):
    """Knows whether it is a forked child of the program, which is not to be followed."""

    forked: bool


class Store(NamedTuple):
    """A container, and under which key or index it holds something. `attribute`: it is the `__dict__` of an object."""

    container: Any
    key: Any
    attribute: bool = False


class StoreWatch:
    """Follows the lines of the thread that calls `start`, from there to `stop`. `found`: the line by what is sought.

    While it watches, it holds the containers, unless the program lets go of them.
    """

    def __init__(self, process: Process) -> None:
        self._process = process
        self._sought: dict[Hashable, list[tuple[Store, object]]] = {}
        self._line: tuple[CodeType, int] | None = None
        self._failure: Exception | None = None
        self._calls = 0
        self.found: dict[Hashable, Location] = {}

    @property
    def watching(self) -> bool:
        return bool(self._sought)

    def start(self, sought: Mapping[Hashable, Iterable[Store]]) -> None:
        """Look for lines that change any of the containers of each thing that is sought."""
        self.stop()
        if not sought or sys.gettrace() is not None:
            return
        self._calls = 0
        self._sought = {name: [(store, _state(store)) for store in stores] for name, stores in sought.items()}
        for frame in own_frames():
            if self._line is None:
                self._line = frame.f_code, frame.f_lineno
            frame.f_trace = self._seen
        sys.settrace(self._called)

    def stop(self) -> None:
        """Let the program run as before; raises what went wrong while it watched."""
        self._sought.clear()
        self._line = None
        if sys.gettrace() == self._called:
            sys.settrace(None)
        for frame in own_frames():
            if frame.f_trace == self._seen:
                frame.f_trace = None
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def let_go(self) -> None:
        """Forget containers that only this watch still holds."""
        for name, stores in list(self._sought.items()):
            stores[:] = [entry for entry in stores if sys.getrefcount(entry[0].container) > _ONLY_OURS]
            if not stores:
                del self._sought[name]

    # -------------------------------------------------------------------------------------------------------- tracing

    def _called(self, frame: FrameType, event: str, argument: object) -> Any:
        """A function is about to run: those of the program are followed line by line."""
        self._calls += 1
        if self._calls > _MOST_CALLS:
            self._sought.clear()
        if not self._sought or self._process.forked:
            sys.settrace(None)
            return None
        written = not frame.f_code.co_filename.startswith("<string")  # named tuples, ours too, are made of text
        return self._seen(frame, event, argument) if written and is_own(frame.f_code.co_filename) else None

    def _seen(self, frame: FrameType, event: str, _: object) -> Any:
        """A line is about to run, or a function to return: what changed was changed by the line before."""
        if not self._sought or self._process.forked:
            return None
        try:
            self._compare()
        except Exception as error:  # it would surface in the program's own line
            self._failure = error
            self._sought.clear()
        if event == "line":
            self._line = frame.f_code, frame.f_lineno
        elif event == "return":
            caller = next(own_frames(frame.f_back), None) if frame.f_back is not None else None
            self._line = None if caller is None else (caller.f_code, caller.f_lineno)
        return self._seen

    def _compare(self) -> None:
        changed = [
            name for name, stores in self._sought.items() if any(_state(store) != before for store, before in stores)
        ]
        for name in changed:
            del self._sought[name]
            if self._line is not None:
                self.found[name] = lines_of(*self._line)


def length(container: Any) -> int:
    """The length of a list, tuple, set, deque or dict, without asking a subclass."""
    kinds: Sequence[type] = (list, tuple, set, deque, dict)
    return next((kind.__len__(container) for kind in kinds if is_a(container, kind)), 0)  # type: ignore[attr-defined]


def _state(store: Store) -> object:
    """What changes when something is put into a container: its length, or which objects it holds at telling places."""
    container, key = store.container, store.key
    if is_a(container, dict):
        value = id(dict.get(container, key)) if type(key) in _SIMPLE_KEYS else 0
        last = next(reversed(dict.values(container)), None)
        return value if store.attribute else (dict.__len__(container), id(last), value)
    count = length(container)
    kind: Any = list if is_a(container, list) else deque
    if is_a(container, set) or count == 0:
        return count
    places = {0, count - 1, key if key < count else 0}
    return count, [id(kind.__getitem__(container, place)) for place in sorted(places)]
