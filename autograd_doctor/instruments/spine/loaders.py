"""Passes over `DataLoader`s: counts their batches, and ends one early where its consumer copes with that."""

from __future__ import annotations

import math
import weakref
from collections import deque
from collections.abc import Sized
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from typing import ClassVar

from torch.nn.parameter import is_lazy
from torch.utils.data.dataloader import _BaseDataLoaderIter, _DatasetKind

from autograd_doctor.clock import CLOCK
from autograd_doctor.events.event import Event
from autograd_doctor.events.run import Noted
from autograd_doctor.events.steps import BatchDrawn, LengthShortened, PassesCounted
from autograd_doctor.findings import Location
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.reading.consumers import ends_with_the_iterator, is_within
from autograd_doctor.reading.numbers import Numbers
from autograd_doctor.reading.places import here
from autograd_doctor.reading.variable_names import variable_name
from autograd_doctor.signals import Signals
from autograd_doctor.signals.loaders import BatchAsked, LengthAsked, Loader, PassBegan
from autograd_doctor.wording import plural

_STEPS_TO_SHOW = 2
"""Steps of a pass that show its period: the batches from one to the next."""
_RECENT = 33
"""Times at which batches were asked for. Steps that are recorded are far apart, but by then less than half of these."""
_SECONDS_PER_STEP, _SECONDS_PER_ELEMENT = 0.05, 2e-8
"""A guess, before there was a step, of how long one takes: for each optimized element besides."""


@dataclass
class _Total:
    """Of all passes over a loader."""

    length: int | None
    batch_size: int | None
    samples: int | None
    passes: int = 0
    batches: int = 0


@dataclass
class _Pass:
    """One pass over a loader. `limit`: batches before which it is not cut, 0 for never.

    stepped_at: how many batches it had at its latest step. period: the most batches between two steps. asked_at: when
    the latest ones were asked for.
    """

    loader: int
    name: str
    location: Location | None
    number: int
    length: int | None
    limit: int
    step: int
    began: float
    batches: int = 0
    steps: int = 0
    stepped_at: int = 0
    period: int = 0
    asked_at: deque[float] = field(default_factory=lambda: deque(maxlen=_RECENT))
    cut: bool = False
    ended: bool = False

    def notice_steps(self, step: int) -> None:
        """Between two batches: how many steps have been taken by now. Those before the first are none of its own."""
        if step > self.step and self.batches:
            self.period = max(self.period, self.batches - self.stepped_at)
            self.stepped_at = self.batches
            self.steps += step - self.step
        self.step = step

    def is_to_be_cut(self, patience: float) -> bool:
        """Whether it trains, has shown how often it steps, and would go on for more than so many seconds.

        The first one over a loader goes on for as long, so that what comes later in it has a chance to be seen.
        """
        if self.cut or not self.limit or self.steps < _STEPS_TO_SHOW:
            return False
        if self.batches < max(self.limit, _STEPS_TO_SHOW * self.period) or self.is_whole:
            return False
        if self.asked_at[-1] - self.began < patience and (self.number == 1 or self.length is None):
            return False
        return self.length is None or (self.length - self.batches) * self._usual_seconds >= patience

    @property
    def _usual_seconds(self) -> float:
        return median(later - earlier for earlier, later in pairwise(self.asked_at))

    @property
    def is_whole(self) -> bool:
        return self.length is not None and self.batches >= self.length


class Loaders(Instrument):
    """Follows each pass from its first batch to its end.

    Lightning plans its epochs, and the validation at their end, by `len(loader)`, so that to Lightning alone a loader
    is as long as a pass over it will be: as patience will last, if steps take as long as is usual for so many
    parameters. One that the check would see whole in any case keeps its length.

    A pass is cut only where that cannot be mistaken: it trains, has shown how often it steps, would go on for long, and
    whoever draws from it copes with fewer batches. Its last batch, often a short one, is delivered all the same.

    limit: batches before which no pass is cut, 0 for never at all. patience: seconds that the rest of a pass may take.
    steps_to_come: how many the check watches at least: the only pass of a program may have no more, so that none is cut
    before they are taken, or so many seconds (`longest`) are over. steps_per_epoch: as far as the passes so far tell.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (BatchDrawn, LengthShortened, PassesCounted)

    def __init__(self, site: Site, course: Course, detail: Detail, parameters: Parameters) -> None:
        super().__init__(site)
        self.limit = 0
        self.patience = 0.0
        self.steps_to_come = 0
        self.longest = 0.0
        self._first_began = math.inf
        self.steps_per_epoch: int | None = None
        self._course = course
        self._detail = detail
        self._parameters = parameters
        self._loaders = Numbers()
        self._names: dict[int, str] = {}
        self._passes: weakref.WeakKeyDictionary[_BaseDataLoaderIter, _Pass] = weakref.WeakKeyDictionary()
        self._latest: dict[int, _Pass] = {}
        self._told: weakref.WeakKeyDictionary[Loader, int] = weakref.WeakKeyDictionary()
        self._said_cut: set[int] = set()
        self._totals: dict[int, _Total] = {}

    def connect(self, signals: Signals) -> None:
        self.listen(signals.loaders.began, self._began)
        self.listen(signals.loaders.asked, self._asked)
        self.listen(signals.loaders.drawn, self._drawn)
        self.listen(signals.loaders.exhausted, self._exhausted)
        self.listen(signals.loaders.length_asked, self._length_asked)

    def finish(self) -> None:
        for number, total in self._totals.items():
            self.emit(
                PassesCounted(
                    step=self._course.steps,
                    loader=number,
                    passes=total.passes,
                    batches=total.batches,
                    length=total.length,
                    batch_size=total.batch_size,
                    samples=total.samples,
                )
            )

    def _length_asked(self, asked: LengthAsked) -> None:
        if not self.limit or not is_within(("lightning", "pytorch_lightning")):
            return
        told = self._told.get(asked.loader) or self._planned
        if asked.length <= max(told, self.steps_to_come):
            return
        if asked.loader not in self._told:
            self._told[asked.loader] = told
            self.emit(
                LengthShortened(
                    step=self._course.steps, loader=variable_name(asked.loader), length=asked.length, told=told
                )
            )
        asked.length = told

    @property
    def _planned(self) -> int:
        """Batches that are likely to take as long as patience lasts."""
        elements = sum(parameter.numel() for _, parameter in self._parameters.living() if not is_lazy(parameter))
        return max(self.limit, int(self.patience / (_SECONDS_PER_STEP + _SECONDS_PER_ELEMENT * elements)))

    def _began(self, began: PassBegan) -> None:
        loader = began.loader
        number = self._loaders.get(loader)
        self._first_began = min(self._first_began, CLOCK.monotonic())
        if number is None:
            number = self._loaders.add(loader)
            self._names[number] = variable_name(loader)
        latest = self._latest.get(number)
        if latest is not None:
            # Whoever counts batches does not ask for the one that is not there.
            latest.cut |= latest.batches >= self._told.get(loader, math.inf)
            if latest.cut or latest.is_whole:
                self._end(latest)
        length = _length(loader)
        if number not in self._totals:
            self._totals[number] = _Total(length, loader.batch_size, _samples(loader) if length is not None else None)
        self._totals[number].passes += 1
        self._passes[began.iterator] = self._latest[number] = _Pass(
            loader=number,
            name=self._names[number],
            location=here(),
            number=latest.number + 1 if latest else 1,
            length=length,
            step=self._course.steps,
            limit=self.limit if ends_with_the_iterator() else 0,
            began=CLOCK.monotonic(),
        )

    def _asked(self, asked: BatchAsked) -> None:
        drawn_from = self._passes.get(asked.iterator)
        if drawn_from is None:
            return
        drawn_from.notice_steps(self._course.steps)
        drawn_from.asked_at.append(CLOCK.monotonic())
        self._learn_epoch(drawn_from)
        if not self._waits_for_steps and drawn_from.is_to_be_cut(self.patience):
            drawn_from.cut = True
            self._detail.met(("last batch", drawn_from.loader))
            self._say_cut(drawn_from)
            self._emit(drawn_from)
            asked.only_the_last = drawn_from.length is not None
            asked.stop = not asked.only_the_last
            if asked.stop:
                self._end(drawn_from)

    @property
    def _waits_for_steps(self) -> bool:
        has_time = CLOCK.monotonic() < self._first_began + self.longest
        return has_time and self._course.steps < self.steps_to_come

    def _drawn(self, asked: BatchAsked) -> None:
        drawn_from = self._passes.get(asked.iterator)
        if drawn_from is None:
            return
        drawn_from.batches += 1
        self._totals[drawn_from.loader].batches += 1
        if drawn_from.batches == 1:
            self._detail.met(("pass", drawn_from.loader))
            self._emit(drawn_from)
        if drawn_from.is_whole:
            self._detail.met(("last batch", drawn_from.loader))

    def _exhausted(self, asked: BatchAsked) -> None:
        drawn_from = self._passes.get(asked.iterator)
        if drawn_from is not None:
            self._end(drawn_from)

    def _learn_epoch(self, drawn_from: _Pass) -> None:
        """Steps taken during a pass tell how many a whole one takes."""
        if drawn_from.steps and drawn_from.length and not drawn_from.cut:
            self.steps_per_epoch = round(drawn_from.length * drawn_from.steps / drawn_from.batches)

    def _end(self, ending: _Pass) -> None:
        if not ending.ended:
            ending.ended = True
            self._detail.met(("end of a pass", ending.loader))
            self._emit(ending)

    def _say_cut(self, cut: _Pass) -> None:
        """Once per loader."""
        if cut.loader in self._said_cut:
            return
        self._said_cut.add(cut.loader)
        name = f"`{cut.name}`" if cut.name else "a `DataLoader`"
        of = f" of {cut.length}, followed by its last batch" if cut.length is not None else ""
        text = f"passes over {name} that train were cut: the first after {plural(cut.batches, 'batch')}{of}"
        self.emit(Noted(step=self._course.steps, text=text))

    def _emit(self, drawn_from: _Pass) -> None:
        if not (self._detail.full or drawn_from.cut):
            return
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
                cut=drawn_from.cut,
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


def _samples(loader: Loader) -> int | None:
    """The number of samples in a pass, where it is torch that puts batches together."""
    sampler: object = loader.sampler
    if loader.batch_size is None or loader.drop_last or not isinstance(sampler, Sized):
        return None
    try:
        return len(sampler)
    except Exception:  # as above
        return None
