"""What it would save if the workers of a loader were not started anew in each pass."""

from __future__ import annotations

from typing import ClassVar

from torch.utils.data import IterableDataset

from autograd_doctor.events.efficiency import WorkersKept
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.efficiency.loader_passes import LoaderPasses, Pass
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.trials import Undecided
from autograd_doctor.reading.without_running import is_a
from autograd_doctor.reading.worker_trials import obstacle, seconds_with_kept_workers
from autograd_doctor.signals import Signals

_SHARE = 0.05
"""Of the time from pass to pass that its first batch takes, below which nobody would try."""
_MOST_LINES = 2
_SECONDS = 3.0
"""For the trial of one loader."""


class WorkerStarts(Instrument):
    """Tries, where passes wait long for their first batch, how soon it comes from workers that are there already."""

    emits: ClassVar[tuple[type[Event], ...]] = (WorkersKept,)

    def __init__(self, site: Site, course: Course, loader_passes: LoaderPasses) -> None:
        super().__init__(site)
        self._course = course
        self._passes = loader_passes
        self._tried: set[Place | None] = set()

    def connect(self, signals: Signals) -> None:
        self.listen(self._passes.started, self._started)

    def _started(self, started: Pass) -> None:
        """Not in the first pass: that start is inevitable."""
        loader, where, since = started.loader, started.where, started.since
        if loader is None or not loader.num_workers or since is None or started.start < _SHARE * since:
            return
        if where in self._tried or len(self._tried) >= _MOST_LINES or is_a(loader.dataset, IterableDataset):
            return
        if obstacle(loader):
            return
        self._tried.add(where)
        try:
            ready = seconds_with_kept_workers(loader, _SECONDS)
        except Undecided as undecided:
            self.limited(f"workers that are kept were not tried: {undecided}")
            return
        self.emit(WorkersKept(step=self._course.steps, location=locate(where), ready=ready))
