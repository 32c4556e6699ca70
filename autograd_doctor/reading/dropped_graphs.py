"""Whether anybody keeps the graphs of calls of a kind: a policy that only acts builds some that are dropped at once."""

from __future__ import annotations

import weakref
from collections import defaultdict, deque
from collections.abc import Hashable, Iterable
from itertools import islice
from typing import Generic, TypeVar

import torch

from autograd_doctor.reading.subclasses import node_of

K = TypeVar("K", bound=Hashable)

_KEY = "autograd_doctor.kept"


class _Token:
    """Lives on the backward nodes of what one call returned, and as long."""


class DroppedGraphs(Generic[K]):
    """The newest graphs of each kind of call within a stretch of the run.

    some: how many graphs of a kind tell, if all but the last are gone, that those of that kind are dropped.
    """

    def __init__(self, some: int) -> None:
        self._some = some
        self._stretch: Hashable = None
        self._tokens: defaultdict[K, deque[weakref.ref[_Token]]] = defaultdict(lambda: deque(maxlen=some))

    def __bool__(self) -> bool:
        return bool(self._tokens)

    def within(self, stretch: Hashable) -> DroppedGraphs[K]:
        """Itself, without what was before the stretch that goes on now."""
        if self._stretch != stretch:
            self._stretch = stretch
            self._tokens.clear()
        return self

    def built(self, kind: K, outputs: Iterable[torch.Tensor]) -> None:
        """A call returned these, each of which has a backward node."""
        token = _Token()
        for output in outputs:
            node_of(output).metadata[_KEY] = token
        self._tokens[kind].append(weakref.ref(token))

    def are_dropped(self, kind: K) -> bool:
        tokens = self._tokens.get(kind, ())
        return len(tokens) == self._some and not any(token() for token in islice(tokens, self._some - 1))
