"""Events on their way to the trace, in the order of what happened, although some are known only later."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from autograd_doctor.events.event import Event


class Outbox:
    """Keeps back what is put in after a place that is still held for others, until that place is filled.

    Places are filled in the order in which they were held.
    """

    def __init__(self, record: Callable[[Event], None]) -> None:
        self._record = record
        self._behind: deque[list[Event]] = deque()
        self._filling = False

    def put(self, event: Event) -> None:
        """Record an event, at the place that is being filled, or behind all that are held."""
        if self._behind and not self._filling:
            self._behind[-1].append(event)
        else:
            self._record(event)

    def hold(self) -> None:
        """Hold a place for what happens now and is stated later."""
        self._behind.append([])

    @contextmanager
    def filling(self) -> Iterator[None]:
        """A block that states what the first place was held for."""
        self._filling = True
        try:
            yield
        finally:
            self._filling = False
            self._let_go()

    def close(self) -> None:
        """Record what is kept back: nobody fills a place any more."""
        while self._behind:
            self._let_go()

    def _let_go(self) -> None:
        for event in self._behind.popleft():
            self._record(event)
