"""Which samples loaders draw, pass by pass, and those that none of them ever does."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import FunctionType
from typing import Any, ClassVar

import torch
from torch.utils.data import (
    BatchSampler,
    RandomSampler,
    SequentialSampler,
    Subset,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

from autograd_doctor.events.data import SamplerFallsShort, SamplerRepeats
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.module_calls import ModuleCalls, RootBegan
from autograd_doctor.instruments.spine.sources import Sources
from autograd_doctor.operations import INDEX_DRAWS
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.places import Place, is_own, locate
from autograd_doctor.reading.process_groups import is_one_of_several
from autograd_doctor.reading.stored_rows import fields_of
from autograd_doctor.reading.without_running import is_a
from autograd_doctor.signals import Signals
from autograd_doctor.signals.fetches import Fetch
from autograd_doctor.signals.loaders import BatchAsked, Loader, PassBegan
from autograd_doctor.signals.operations import Operation

_MOST_SAMPLES = 200_000
"""In a data set, to keep account of."""
_MOST_LOADERS = 100


@dataclass
class _Drawing:
    """What a loader drew. kind: of its sampler. samples: of its latest whole pass. same: as of all those before.

    chooses: the sampler may leave samples out. at_random: it was seen to draw by itself, at `place`.
    """

    kind: type
    rows: int
    place: Place | None
    chooses: bool
    at_random: bool = False
    samples: frozenset[int] = frozenset()
    passes: int = 0
    same: bool = True


@dataclass
class _Pass:
    drawing: _Drawing
    samples: set[int] = field(default_factory=set)


class Samplers(Instrument):
    """Listens to what loaders fetch in the program's own process.

    Data sets of as many samples may be the same under two transforms: what one loader draws counts for all of them.
    Where anything is not seen to its end, nothing is said of any.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (SamplerFallsShort, SamplerRepeats)

    def __init__(self, site: Site, course: Course, module_calls: ModuleCalls, sources: Sources) -> None:
        super().__init__(site)
        self._course = course
        self._module_calls = module_calls
        self._sources = sources
        self._known: IdentityTable[_Drawing] = IdentityTable()
        self._drawings: list[_Drawing] = []
        self._running: IdentityTable[_Pass] = IdentityTable()
        self._open = 0
        self._asking: _Pass | None = None
        self._columns: IdentityTable[int] = IdentityTable()
        self._evaluated: set[int] = set()
        self._unknown = False

    def connect(self, signals: Signals) -> None:
        self.listen(signals.loaders.began, self._pass_began)
        self.listen(signals.loaders.asked, self._asked)
        self.listen(signals.loaders.drawn, self._drawn)
        self.listen(signals.loaders.exhausted, self._exhausted)
        self.listen(signals.fetches.began, self._fetched)
        self.listen(signals.operations.ended, self._operation_ended, names=INDEX_DRAWS)
        self.listen(self._module_calls.root_began, self._root_began)

    def finish(self) -> None:
        if self._unknown or self._open:
            return
        for drawing in self._drawings:
            alike = [other for other in self._drawings if other.rows == drawing.rows]
            every = set[int]().union(*(other.samples for other in alike))
            is_part = drawing.chooses and every == drawing.samples and len(every) < drawing.rows
            if is_part and drawing.passes and all(other.same for other in alike):
                self._tell(drawing)

    def _tell(self, drawing: _Drawing) -> None:
        self.emit(
            SamplerRepeats(
                step=self._course.steps,
                location=locate(drawing.place),
                sampler=drawing.kind.__name__,
                at_random=drawing.at_random,
                rows=drawing.rows,
                drawn=len(drawing.samples),
                passes=drawing.passes,
                evaluated=drawing.rows in self._evaluated,
            )
        )

    # ------------------------------------------------------------------------------------------------------- passes

    def _pass_began(self, began: PassBegan) -> None:
        self._unknown |= is_one_of_several()  # others have the rest
        drawing = self._known.get(began.loader) or self._meet(began.loader)
        self._running.put(began.iterator, _Pass(drawing))
        self._open += 1

    def _meet(self, loader: Loader) -> _Drawing:
        rows = _count(loader.dataset)
        self._unknown |= loader.num_workers > 0 or not 0 < rows <= _MOST_SAMPLES
        batches = loader.sampler if loader.batch_sampler is None else loader.batch_sampler
        sampler = batches.sampler if type(batches) is BatchSampler else batches
        begins, is_whole = _iteration(type(sampler)), not is_a(loader.dataset, Subset)
        built = self._sources.built_at.get(self._sources.loaders.number(loader))
        if rows:
            self._compare(sampler, _length(loader.dataset), built)
        place = begins or built
        chooses = is_whole and (begins is not None or type(sampler) is SubsetRandomSampler)
        drawing = _Drawing(type(sampler), rows, place, chooses)
        self._known.put(loader, drawing)
        self._drawings.append(drawing)
        if len(self._drawings) > _MOST_LOADERS:
            self._unknown, self._drawings = True, []
        for stored, _ in fields_of(loader.dataset, [0]) if rows and is_whole else ():
            if isinstance(stored.rows, torch.Tensor):
                self._columns.put(stored.rows, rows)
        return drawing

    def _compare(self, sampler: Any, rows: int, built: Place | None) -> None:
        reach = _reach(sampler)
        if reach is not None and reach < rows:
            self.emit(
                SamplerFallsShort(
                    step=self._course.steps,
                    location=locate(built),
                    sampler=type(sampler).__name__,
                    rows=rows,
                    reach=reach,
                    weighted=type(sampler) is WeightedRandomSampler,
                )
            )

    def _asked(self, asked: BatchAsked) -> None:
        self._asking = self._running.get(asked.iterator)

    def _fetched(self, fetch: Fetch) -> None:
        if self._asking is None:
            return
        indices = list(fetch.index) if isinstance(fetch.index, list | tuple) else [fetch.index]
        dataset: Any = fetch.dataset
        while is_a(dataset, Subset):
            indices, dataset = [dataset.indices[index] for index in indices], dataset.dataset
        try:
            self._asking.samples.update(map(int, indices))
        except (TypeError, ValueError):  # a data set of the user's may be asked for anything
            self._unknown = True

    def _drawn(self, asked: BatchAsked) -> None:
        self._asking = None
        self._unknown |= asked.only_the_last

    def _exhausted(self, asked: BatchAsked) -> None:
        self._asking = None
        ended = self._running.get(asked.iterator)
        if ended is not None:
            self._running.discard(asked.iterator)
            self._open -= 1
            drawing, samples = ended.drawing, frozenset(ended.samples)
            drawing.same &= not drawing.passes or samples == drawing.samples
            drawing.samples, drawing.passes = samples, drawing.passes + 1

    def _operation_ended(self, operation: Operation) -> None:
        """The line of a sampler that draws is the one to look at."""
        if self._asking is not None and operation.place is not None:
            drawing = self._asking.drawing
            functions = [each for each in vars(drawing.kind).values() if isinstance(each, FunctionType)]
            if any(each.__code__ is operation.place[0] for each in functions):
                drawing.place, drawing.at_random = operation.place, True

    def _root_began(self, began: RootBegan) -> None:
        """What is evaluated without a loader may be the samples in question."""
        if began.call.grad_enabled:
            return
        for tensor in began.given:
            rows = self._columns.get(tensor)
            if rows is not None:
                self._evaluated.add(rows)
            elif tensor.dim() and not tensor.requires_grad:
                self._unknown |= not any(source.kind == "drawn" for source in self._sources.of(tensor))


def _count(dataset: Any) -> int:
    """How many samples there are in the data set that all parts are parts of, 0 if that is unknown."""
    while is_a(dataset, Subset):
        dataset = dataset.dataset
    return _length(dataset)


def _length(samples: Any) -> int:
    try:
        return len(samples)
    except Exception:  # a data set of the user's may have no length, and say so in any way
        return 0


def _reach(sampler: Any) -> int | None:
    """Among how many samples, from the first on, a sampler of torch draws."""
    if type(sampler) is WeightedRandomSampler:
        return len(sampler.weights)
    if type(sampler) not in (RandomSampler, SequentialSampler):
        return None
    return _length(sampler.data_source) or None


def _iteration(kind: type) -> Place | None:
    """Where a sampler of the program's own begins to draw."""
    function = vars(kind).get("__iter__")
    if not isinstance(function, FunctionType) or not is_own(function.__code__.co_filename):
        return None
    return function.__code__, 0
