"""Passes over `DataLoader`s: counts their batches, and ends one early where its consumer copes with that."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import ClassVar

from torch.utils.data.dataloader import _BaseDataLoaderIter, _DatasetKind

from autograd_doctor.events import BatchDrawn, Event, LengthShortened, Noted
from autograd_doctor.findings import Location
from autograd_doctor.instruments.course import Course
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.reading.consumers import ends_with_the_iterator, is_within
from autograd_doctor.reading.numbers import Numbers
from autograd_doctor.reading.places import here
from autograd_doctor.reading.variable_names import variable_name
from autograd_doctor.signals import Signals
from autograd_doctor.signals.loaders import BatchAsked, LengthAsked, Loader, PassBegan


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


class Loaders(Instrument):
    """Follows each pass from its first batch to its end.

    Lightning plans its epochs, and the validation at their end, by `len(loader)`, so that to Lightning alone a loader
    is as long as a pass over it will be.

    limit: batches after which passes are cut, 0 for never. steps_per_epoch: as far as the passes so far tell.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (BatchDrawn, LengthShortened)

    def __init__(self, site: Site, course: Course) -> None:
        super().__init__(site)
        self.limit = 0
        self.steps_per_epoch: int | None = None
        self._course = course
        self._loaders = Numbers()
        self._names: dict[int, str] = {}
        self._passes: weakref.WeakKeyDictionary[_BaseDataLoaderIter, _Pass] = weakref.WeakKeyDictionary()
        self._latest: dict[int, _Pass] = {}
        self._told: weakref.WeakSet[Loader] = weakref.WeakSet()
        self._cut_before = False

    def connect(self, signals: Signals) -> None:
        self.listen(signals.loaders.began, self._began)
        self.listen(signals.loaders.asked, self._asked)
        self.listen(signals.loaders.drawn, self._drawn)
        self.listen(signals.loaders.exhausted, self._exhausted)
        self.listen(signals.loaders.length_asked, self._length_asked)

    def _length_asked(self, asked: LengthAsked) -> None:
        if not self.limit or asked.length <= self.limit or not is_within(("lightning", "pytorch_lightning")):
            return
        if asked.loader not in self._told:
            self._told.add(asked.loader)
            self.emit(
                LengthShortened(
                    step=self._course.steps,
                    loader=variable_name(asked.loader),
                    length=asked.length,
                    told=self.limit,
                )
            )
        asked.length = self.limit

    def _began(self, began: PassBegan) -> None:
        loader = began.loader
        number = self._loaders.get(loader)
        if number is None:
            number = self._loaders.add(loader)
            self._names[number] = variable_name(loader)
        latest = self._latest.get(number)
        if latest is not None and (latest.is_cut_here or latest.is_whole):
            # Whoever counts batches does not ask for the one that is not there.
            self._end(latest, cut=latest.is_cut_here)
        self._passes[began.iterator] = self._latest[number] = _Pass(
            loader=number,
            name=self._names[number],
            location=here(),
            number=latest.number + 1 if latest else 1,
            length=_length(loader),
            first_step=self._course.steps,
            limit=self.limit if ends_with_the_iterator() else 0,
        )

    def _asked(self, asked: BatchAsked) -> None:
        drawn_from = self._passes.get(asked.iterator)
        if drawn_from is not None and drawn_from.is_cut_here:
            asked.stop = True
            self._end(drawn_from, cut=True)

    def _drawn(self, asked: BatchAsked) -> None:
        drawn_from = self._passes.get(asked.iterator)
        if drawn_from is None:
            return
        self._learn_epoch(drawn_from)
        drawn_from.batches += 1
        if drawn_from.batches == 1:
            self._emit(drawn_from, cut=False)

    def _exhausted(self, asked: BatchAsked) -> None:
        drawn_from = self._passes.get(asked.iterator)
        if drawn_from is not None:
            self._end(drawn_from, cut=False)

    def _learn_epoch(self, drawn_from: _Pass) -> None:
        """Steps taken during a pass tell how many a whole one takes."""
        taken = self._course.steps - drawn_from.first_step
        if taken and drawn_from.batches and drawn_from.length:
            self.steps_per_epoch = round(drawn_from.length * taken / drawn_from.batches)

    def _end(self, ending: _Pass, *, cut: bool) -> None:
        if ending.ended:
            return
        ending.ended = True
        self._emit(ending, cut=cut)
        if cut and not self._cut_before:
            self._cut_before = True
            text = f"every pass over a `DataLoader` was cut after {ending.limit} batches"
            self.emit(Noted(step=self._course.steps, text=text))

    def _emit(self, drawn_from: _Pass, *, cut: bool) -> None:
        self.emit(
            BatchDrawn(
                step=self._course.steps,
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
