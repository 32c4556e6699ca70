"""Data sets that are changed while the workers which read them stay as they were started."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from torch.utils.data.dataloader import _DatasetKind

from autograd_doctor.clock import CLOCK
from autograd_doctor.events.data import WorkersLeftBehind
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.sources import Sources
from autograd_doctor.reading.assignments import changed_at
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.places import locate
from autograd_doctor.reading.trials import Undecided
from autograd_doctor.reading.worker_copies import Change, State, changes_that_matter, first_of, roots_of, told
from autograd_doctor.signals import Signals
from autograd_doctor.signals.loaders import IndexDrawn, Loader, PassAsked, PassBegan

_MOST_FOUND = 4
"""In one pass."""
_SECONDS = 6.0
"""For all trials of a run."""


@dataclass
class _Workers:
    """Of one loader, since they were started. settled: of which changes nothing more is to be said."""

    state: State
    passes: int = 1
    settled: set[str] = field(default_factory=set)


class KeptWorkers(Instrument):
    """Compares the data set of a loader whose workers stay, as each pass begins, with what it was when they started.

    Where it is another one, the samples that the pass asks for first are read with the change and without, by a worker
    of the doctor's own, which writes no files and is gone afterwards.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (WorkersLeftBehind,)

    def __init__(self, site: Site, course: Course, sources: Sources) -> None:
        super().__init__(site)
        self._course = course
        self._sources = sources
        self._workers: IdentityTable[_Workers] = IdentityTable()
        self._index: Any = None
        self._spent = 0.0

    def connect(self, signals: Signals) -> None:
        self.listen(signals.loaders.pass_asked, self._pass_asked, bare=True)
        self.listen(signals.loaders.indexed, self._indexed, bare=True)
        self.listen(signals.loaders.began, self._began)

    def _pass_asked(self, asked: PassAsked) -> None:
        self._index = None

    def _indexed(self, drawn: IndexDrawn) -> None:
        """Samples are asked of workers before the pass has begun."""
        if self._index is None:
            self._index = first_of(drawn.index)

    def _began(self, began: PassBegan) -> None:
        index, self._index = self._index, None
        loader, iterator = began.loader, began.iterator
        if not (loader.num_workers and loader.persistent_workers) or loader._dataset_kind != _DatasetKind.Map:
            return
        workers = self._workers.get(iterator)
        if workers is None:
            self._workers.put(iterator, _Workers(State(roots_of(loader))))
            return
        workers.passes += 1
        changed = {each.path for each in workers.state.changes()}
        if index is None or changed <= workers.settled:
            return
        if self._spent > _SECONDS:
            self.limited(f"after {_SECONDS:g} seconds of trials, no more changes of data sets were tried")
            return
        try:
            self._try(loader, workers, index)
        except Undecided as undecided:
            workers.settled |= changed
            self.limited(f"whether a change of the data set reaches its workers was not tried: {undecided}")

    def _try(self, loader: Loader, workers: _Workers, index: Any) -> None:
        began = CLOCK.perf_counter()
        try:
            for change in changes_that_matter(workers.state, loader, index)[:_MOST_FOUND]:
                if change.path not in workers.settled:
                    workers.settled.add(change.path)
                    self._tell(loader, workers, change)
        finally:
            self._spent += CLOCK.perf_counter() - began

    def _tell(self, loader: Loader, workers: _Workers, change: Change) -> None:
        number = self._sources.loaders.number(loader)
        self.emit(
            WorkersLeftBehind(
                step=self._course.steps,
                location=locate(self._sources.built_at.get(number)),
                changed_at=changed_at(change.thing, change.attribute),
                name=self._sources.names.get(number, ""),
                workers=loader.num_workers,
                dataset=type(loader.dataset).__name__,
                attribute=change.path,
                before=told(change.before),
                now=told(change.now),
                passes=workers.passes,
            )
        )
