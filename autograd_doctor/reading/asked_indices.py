"""What samplers have asked for, until the batches come."""

from __future__ import annotations

from collections import deque
from typing import Any

from autograd_doctor.reading.numbers import IdentityTable


class AskedIndices:
    """Batches come in the order in which they were asked for. Workers that stay have one iterator for all passes: a new
    one over the sampler tells that the next has begun."""

    def __init__(self) -> None:
        self._by_iterator: IdentityTable[tuple[object, deque[Any]]] = IdentityTable()

    def note(self, iterator: Any, index: Any) -> None:
        source, waiting = self._by_iterator.get(iterator) or (None, deque())
        if source is not iterator._sampler_iter:
            waiting = deque()
            self._by_iterator.put(iterator, (iterator._sampler_iter, waiting))
        waiting.append(index)

    def of_next(self, iterator: Any) -> Any:
        """For the batch that has come; None where nothing was noted."""
        _, waiting = self._by_iterator.get(iterator) or (None, None)
        return waiting.popleft() if waiting else None
