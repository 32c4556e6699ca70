"""Passes over `DataLoader`s. The program keeps torch's own iterators: only their `__next__` is watched."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from itertools import islice
from typing import Any

from torch.utils.data import DataLoader, Subset
from torch.utils.data.dataloader import _BaseDataLoaderIter

from autograd_doctor.signals.guard import Guard
from autograd_doctor.signals.patches import Patches
from autograd_doctor.signals.signal import Seam, Signal

Loader = DataLoader[Any]


@dataclass(eq=False, slots=True)
class PassAsked:
    """The program asks a loader for an iterator, which may start workers."""

    loader: Loader


@dataclass(eq=False, slots=True)
class PassBegan:
    """The program asked a loader for an iterator."""

    loader: Loader
    iterator: _BaseDataLoaderIter


@dataclass(eq=False, slots=True)
class BatchAsked:
    """The program asks for the next batch. A listener to `asked` may end the pass here by setting `stop`.

    only_the_last: of the batches that no worker was asked for yet, only the last one is to come. It is for loaders of
    map-style data sets alone, whose sampler says what comes. batch: what came.
    """

    iterator: _BaseDataLoaderIter
    stop: bool = False
    only_the_last: bool = False
    batch: Any = None


@dataclass(eq=False, slots=True)
class IndexDrawn:
    """A sampler has said what the next batch that is loaded consists of, which is earlier than it comes."""

    iterator: _BaseDataLoaderIter
    index: Any


@dataclass(eq=False, slots=True)
class LengthAsked:
    """The program asks for `len(loader)`. A listener may put a smaller number in."""

    loader: Loader
    length: int


class Loaders(Seam):
    """`built`, and `chosen` for a part of a data set; `pass_asked`, then `began` with a pass; `asked`, then `drawn` or
    `exhausted` for each batch; `indexed`, from before a pass began; `length_asked`.
    """

    def __init__(self, guard: Guard) -> None:
        super().__init__(guard)
        self.built: Signal[Loader] = Signal(guard, self)
        self.chosen: Signal[Subset[Any]] = Signal(guard, self)
        self.pass_asked: Signal[PassAsked] = Signal(guard, self)
        self.began: Signal[PassBegan] = Signal(guard, self)
        self.asked: Signal[BatchAsked] = Signal(guard, self)
        self.drawn: Signal[BatchAsked] = Signal(guard, self)
        self.exhausted: Signal[BatchAsked] = Signal(guard, self)
        self.indexed: Signal[IndexDrawn] = Signal(guard, self)
        self.length_asked: Signal[LengthAsked] = Signal(guard, self)

    def patch(self, patches: Patches) -> None:
        patches.replace(DataLoader, "__init__", _building(DataLoader.__init__, self.built))
        patches.replace(Subset, "__init__", _building(Subset.__init__, self.chosen))
        patches.replace(DataLoader, "__iter__", self._iterating(DataLoader.__iter__))
        patches.replace(DataLoader, "__len__", self._measuring(DataLoader.__len__))
        patches.replace(_BaseDataLoaderIter, "__next__", self._drawing(_BaseDataLoaderIter.__next__))
        patches.replace(_BaseDataLoaderIter, "_next_index", self._indexing(_BaseDataLoaderIter._next_index))

    def _iterating(self, original: Callable[[Loader], _BaseDataLoaderIter]) -> Callable[[Loader], _BaseDataLoaderIter]:
        @wraps(original)
        def __iter__(loader: Loader) -> _BaseDataLoaderIter:  # noqa: N807
            self.pass_asked.send(PassAsked(loader))
            iterator = original(loader)
            self.began.send(PassBegan(loader, iterator))
            return iterator

        return __iter__

    def _measuring(self, original: Callable[[Loader], int]) -> Callable[[Loader], int]:
        @wraps(original)
        def __len__(loader: Loader) -> int:  # noqa: N807
            asked = LengthAsked(loader, original(loader))
            self.length_asked.send(asked)
            return asked.length

        return __len__

    def _indexing(self, original: Callable[[_BaseDataLoaderIter], Any]) -> Callable[[_BaseDataLoaderIter], Any]:
        @wraps(original)
        def _next_index(iterator: _BaseDataLoaderIter) -> Any:
            index = original(iterator)
            if self.indexed.listeners:
                self.indexed.send(IndexDrawn(iterator, index))
            return index

        return _next_index

    def _drawing(self, original: Callable[[_BaseDataLoaderIter], Any]) -> Callable[[_BaseDataLoaderIter], Any]:
        @wraps(original)
        def __next__(iterator: _BaseDataLoaderIter) -> Any:  # noqa: N807
            call = BatchAsked(iterator)
            self.asked.send(call)
            if call.stop:
                raise StopIteration
            if call.only_the_last:
                _skip_to_the_last(iterator)
            try:
                batch = original(iterator)
            except StopIteration:
                self.exhausted.send(call)
                raise
            call.batch = batch
            self.drawn.send(call)
            call.batch = None
            return batch

        return __next__


def _building(original: Callable[..., None], built: Signal[Any]) -> Callable[..., None]:
    @wraps(original)
    def __init__(made: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        original(made, *args, **kwargs)
        built.send(made)

    return __init__


def _skip_to_the_last(iterator: _BaseDataLoaderIter) -> None:
    """Draw what is left of the sampler, as the whole pass would, and load the last batch of it only."""
    left = islice(iterator._sampler_iter, len(iterator._index_sampler))
    iterator._sampler_iter = iter(deque(left, maxlen=1))
