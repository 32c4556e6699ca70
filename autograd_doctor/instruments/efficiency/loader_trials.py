"""What workers would do for a loader that the program waits for, and whether it reads the same in each pass."""

from __future__ import annotations

import os
from statistics import median
from typing import Any, ClassVar

from torch.utils.data import IterableDataset

from autograd_doctor.events.efficiency import ItemsReread, WorkersRuledOut, WorkersTried
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.efficiency.iteration_times import Iteration, IterationTimes
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.reading.places import Place, locate, place
from autograd_doctor.reading.repeated_items import reread
from autograd_doctor.reading.ties import State, changed, state_of
from autograd_doctor.reading.trials import Undecided
from autograd_doctor.reading.without_running import is_a
from autograd_doctor.reading.worker_trials import obstacle, seconds_of_a_batch
from autograd_doctor.signals import Signals
from autograd_doctor.signals.loaders import BatchAsked, Loader, PassBegan

_AFTER = 12
"""Iterations in which the program waits as it does."""
_FROM = 2
"""Iterations after which what the data set uses is compared with what it is when workers are tried: what is opened or
looked up once is there by then."""
_SHARE = 0.25
"""Of an iteration, below which nobody would try."""
_SECONDS = 1.5
"""For each number of workers, and to read samples twice."""
_WORKERS = (2, 4)


class LoaderTrials(Instrument):
    """Tries the loader that the last batch came from, once, between two iterations."""

    emits: ClassVar[tuple[type[Event], ...]] = (WorkersTried, WorkersRuledOut, ItemsReread)

    def __init__(self, site: Site, course: Course, iteration_times: IterationTimes) -> None:
        super().__init__(site)
        self._course = course
        self._iterations = iteration_times
        self._loader: Loader | None = None
        self._where: Place | None = None
        self._waited: list[float] = []
        self._shares: list[float] = []
        self._used: State = {}

    def connect(self, signals: Signals) -> None:
        self.listen(signals.loaders.began, self._began)
        self.listen(signals.loaders.drawn, self._drawn)
        self.listen(self._iterations.over, self._over)

    def _began(self, began: PassBegan) -> None:
        self._loader = began.loader

    def _drawn(self, asked: BatchAsked) -> None:
        self._where = place()

    def _over(self, iteration: Iteration) -> None:
        if iteration.recorded or not iteration.typical or not iteration.drawn:
            return
        waited = sum(seconds for (activity, _), seconds in iteration.spent.items() if activity == "data")
        self._waited.append(waited / len(iteration.drawn))
        self._shares.append(waited / iteration.seconds if iteration.seconds else 0.0)
        if len(self._waited) == _FROM and self._loader is not None:
            self._used = state_of(self._loader.dataset)
        if len(self._waited) >= _AFTER:
            self._try(self._loader)
            self._loader = None
            self.detach()

    def _try(self, loader: Loader | None) -> None:
        if loader is None or loader.num_workers or median(self._shares) < _SHARE:
            return
        alone = median(self._waited)
        try:
            self._look_for_obstacles(loader)
            if not is_a(loader.dataset, IterableDataset):
                self._reread(loader, alone / (loader.batch_size or 1))
            self._try_workers(loader, alone)
        except Undecided as undecided:
            self.emit(WorkersRuledOut(step=self._course.steps, location=locate(self._where), why=str(undecided)))

    def _look_for_obstacles(self, loader: Loader) -> None:
        if reason := obstacle(loader):
            raise Undecided(reason)
        if name := changed(self._used, state_of(loader.dataset)):
            raise Undecided(f"reading uses `{name}`, which changes meanwhile: a worker would have a copy of its own")

    def _reread(self, loader: Loader, waited: float) -> None:
        found = reread(loader, waited, _SECONDS)
        dataset: Any = loader.dataset
        self.emit(
            ItemsReread(
                step=self._course.steps,
                location=locate(self._where),
                samples=len(found),
                same=sum(each.same for each in found),
                first=median(each.first for each in found),
                again=median(each.again for each in found),
                waited=waited,
                bytes=sum(each.bytes for each in found) // len(found),
                of=len(dataset),
            )
        )

    def _try_workers(self, loader: Loader, alone: float) -> None:
        for workers in _WORKERS:
            if workers > (os.cpu_count() or 1):
                break
            self.emit(
                WorkersTried(
                    step=self._course.steps,
                    location=locate(self._where),
                    workers=workers,
                    before=alone,
                    after=seconds_of_a_batch(loader, workers, alone, _SECONDS),
                )
            )
