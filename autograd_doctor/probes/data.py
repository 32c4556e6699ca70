"""Counts the batches of each pass over a `DataLoader`, and ends a pass early where its consumer copes with that."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from torch.utils.data import DataLoader
from torch.utils.data.dataloader import _BaseDataLoaderIter, _DatasetKind

from autograd_doctor.events import BatchDrawn, Event, LengthShortened, Noted
from autograd_doctor.findings import Location
from autograd_doctor.watching.care import careful
from autograd_doctor.watching.consumers import ends_with_the_iterator, is_within
from autograd_doctor.watching.naming import Numbers, variable_name
from autograd_doctor.watching.patching import Patches
from autograd_doctor.watching.places import here
from autograd_doctor.watching.watch import Watch

Loader = DataLoader[Any]


@dataclass
class _Pass:
    """One pass over a loader. `limit` is where it is cut, 0 for never."""

    loader: int
    name: str
    location: Location | None
    number: int
    length: int | None
    limit: int
    first_step: int
    batches: int = 0
    ended: bool = False

    @property
    def is_cut_here(self) -> bool:
        """Whether the next batch is one too many; a pass that is over anyway ends by itself."""
        return bool(self.limit) and self.batches >= self.limit and not self.is_whole

    @property
    def is_whole(self) -> bool:
        return self.length is not None and self.batches >= self.length


class Data:
    """The program keeps torch's own iterators: only their `__next__` is watched.

    Lightning plans its epochs, and the validation at their end, by `len(loader)`, so that to Lightning alone a loader
    is as long as a pass over it will be.
    """

    yields: ClassVar[tuple[type[Event], ...]] = (BatchDrawn, LengthShortened)

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._process = os.getpid()
        self._patches = Patches()
        self._loaders = Numbers()
        self._names: dict[int, str] = {}
        self._passes: weakref.WeakKeyDictionary[_BaseDataLoaderIter, _Pass] = weakref.WeakKeyDictionary()
        self._latest: dict[int, _Pass] = {}
        self._told: weakref.WeakSet[Loader] = weakref.WeakSet()
        self._cut_before = False

    def __enter__(self) -> Self:
        self._patches.replace(DataLoader, "__iter__", self._iterating(DataLoader.__iter__))
        self._patches.replace(DataLoader, "__len__", self._measuring(DataLoader.__len__))
        self._patches.replace(_BaseDataLoaderIter, "__next__", self._drawing(_BaseDataLoaderIter.__next__))
        return self

    def __exit__(self, *_: object) -> None:
        self._patches.close()

    def _iterating(self, original: Callable[[Loader], _BaseDataLoaderIter]) -> Callable[[Loader], _BaseDataLoaderIter]:
        def __iter__(self_: Loader) -> _BaseDataLoaderIter:  # noqa: N807
            iterator = original(self_)
            if os.getpid() == self._process:
                self._begin(iterator, self_)
            return iterator

        return __iter__

    def _measuring(self, original: Callable[[Loader], int]) -> Callable[[Loader], int]:
        def __len__(self_: Loader) -> int:  # noqa: N807
            length = original(self_)
            limit = self._watch.batches_per_epoch
            if not limit or length <= limit or not is_within(("lightning", "pytorch_lightning")):
                return length
            self._shortened(self_, length, limit)
            return limit

        return __len__

    @careful
    def _shortened(self, loader: Loader, length: int, told: int) -> None:
        if loader not in self._told:
            self._told.add(loader)
            name = variable_name(loader)
            self._watch.emit(LengthShortened(step=self._watch.step, loader=name, length=length, told=told))

    def _drawing(self, original: Callable[[_BaseDataLoaderIter], Any]) -> Callable[[_BaseDataLoaderIter], Any]:
        def __next__(self_: _BaseDataLoaderIter) -> Any:  # noqa: N807
            drawn_from = self._passes.get(self_)
            if drawn_from is None:
                return original(self_)
            if drawn_from.is_cut_here:
                self._end(drawn_from, cut=True)
                raise StopIteration
            try:
                batch = original(self_)
            except StopIteration:
                self._end(drawn_from, cut=False)
                raise
            self._learn_epoch(drawn_from)
            drawn_from.batches += 1
            if drawn_from.batches == 1:
                self._emit(drawn_from, cut=False)
            return batch

        return __next__

    @careful
    def _begin(self, iterator: _BaseDataLoaderIter, loader: Loader) -> None:
        number = self._loaders.get(loader)
        if number is None:
            number = self._loaders.add(loader)
            self._names[number] = variable_name(loader)
        latest = self._latest.get(number)
        if latest is not None and (latest.is_cut_here or latest.is_whole):
            # Whoever counts batches does not ask for the one that is not there.
            self._end(latest, cut=latest.is_cut_here)
        self._passes[iterator] = self._latest[number] = _Pass(
            loader=number,
            name=self._names[number],
            location=here(),
            number=latest.number + 1 if latest else 1,
            length=_length(loader),
            first_step=self._watch.step,
            limit=self._watch.batches_per_epoch if ends_with_the_iterator() else 0,
        )

    def _learn_epoch(self, drawn_from: _Pass) -> None:
        """Steps taken during a pass tell how many a whole one takes."""
        taken = self._watch.step - drawn_from.first_step
        if taken and drawn_from.batches and drawn_from.length:
            self._watch.steps_per_epoch = round(drawn_from.length * taken / drawn_from.batches)

    def _end(self, ending: _Pass, *, cut: bool) -> None:
        if ending.ended:
            return
        ending.ended = True
        self._emit(ending, cut=cut)
        if cut and not self._cut_before:
            self._cut_before = True
            text = f"every pass over a `DataLoader` was cut after {ending.limit} batches"
            self._watch.emit(Noted(step=self._watch.step, text=text))

    def _emit(self, drawn_from: _Pass, *, cut: bool) -> None:
        self._watch.emit(
            BatchDrawn(
                step=self._watch.step,
                loader=drawn_from.loader,
                name=drawn_from.name,
                location=drawn_from.location,
                pass_number=drawn_from.number,
                batches=drawn_from.batches,
                length=drawn_from.length,
                ended=drawn_from.ended,
                cut=cut,
            )
        )


def _length(loader: Loader) -> int | None:
    """The number of batches, where asking leaves no mark: an iterable-style loader remembers that it was asked."""
    if loader._dataset_kind != _DatasetKind.Map:
        return None
    try:
        return len(loader._index_sampler)
    except Exception:  # a sampler of the user's may have no length yet, and say so in any way
        return None


PROBE = Data
