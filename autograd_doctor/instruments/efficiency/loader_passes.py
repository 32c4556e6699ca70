"""Passes over loaders: who reads for them, and how long the program waits for the first batch, and for others."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from statistics import median
from typing import ClassVar

from autograd_doctor.events.efficiency import PassTimed
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.efficiency.iteration_times import IterationTimes
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.reading.numbers import IdentityTable, Numbers
from autograd_doctor.reading.places import Place, locate, place
from autograd_doctor.signals import Signals
from autograd_doctor.signals.loaders import BatchAsked, Loader, PassAsked, PassBegan
from autograd_doctor.signals.signal import Signal

_MOST_TOLD = 200
"""Passes, which is more than a median needs."""
_MOST_WAITS = 1000
"""Of one pass."""


@dataclass(eq=False)
class Pass:
    """One over a loader. where: the program asked for it there, at `asked`. loader: until the first batch has come: a
    program may let go of it then. over: it has ended, or gave way to another. cut: the doctor ends it early.
    """

    loader: Loader | None
    number: int
    workers: int
    kept: bool
    where: Place | None
    asked: float
    since: float | None
    start: float = 0.0
    waited_from: float = 0.0
    batches: int = 0
    waits: list[float] = field(default_factory=list)
    over: bool = False
    cut: bool = False


class LoaderPasses(Instrument):
    """Times passes by the clock of the iterations, which stands still while the doctor looks. `started` is sent
    when the first batch of one has come."""

    emits: ClassVar[tuple[type[Event], ...]] = (PassTimed,)

    def __init__(self, site: Site, course: Course, iteration_times: IterationTimes) -> None:
        super().__init__(site)
        self.started: Signal[Pass] = Signal(site.signals.guard)
        self._course = course
        self._iterations = iteration_times
        self._numbers = Numbers()
        self._opening: Pass | None = None
        self._passes: IdentityTable[Pass] = IdentityTable()
        self._latest: dict[Place | None, Pass] = {}
        self._told = 0

    def connect(self, signals: Signals) -> None:
        self.listen(signals.loaders.pass_asked, self._pass_asked)
        self.listen(signals.loaders.began, self._began)
        self.listen(signals.loaders.asked, self._asked, last=True, bare=True)
        self.listen(signals.loaders.drawn, self._drawn)
        self.listen(signals.loaders.exhausted, self._exhausted)

    def finish(self) -> None:
        for each in self._latest.values():
            self._end(each)

    def _pass_asked(self, asked: PassAsked) -> None:
        where, now = place(), self._iterations.seconds()
        before = self._latest.get(where)
        if before is not None:
            self._end(before)
        loader, since = asked.loader, now - before.asked if before is not None else None
        number = self._numbers.get(loader)
        number = self._numbers.add(loader) if number is None else number
        self._opening = Pass(loader, number, loader.num_workers, loader.persistent_workers, where, now, since)

    def _began(self, began: PassBegan) -> None:
        opening, self._opening = self._opening, None
        if opening is not None:
            self._latest[opening.where] = opening
            self._passes.put(began.iterator, opening)

    def _asked(self, asked: BatchAsked) -> None:
        drawn_from = self._passes.get(asked.iterator)
        if drawn_from is not None:
            drawn_from.cut |= asked.stop or asked.only_the_last
            drawn_from.waited_from = self._iterations.seconds()

    def _drawn(self, asked: BatchAsked) -> None:
        drawn_from = self._passes.get(asked.iterator)
        if drawn_from is None:
            return
        drawn_from.batches += 1
        now = self._iterations.seconds()
        if drawn_from.batches == 1:
            drawn_from.start = now - drawn_from.asked
            self.started.tell(drawn_from)
            drawn_from.loader = None
        elif len(drawn_from.waits) < _MOST_WAITS:
            drawn_from.waits.append(now - drawn_from.waited_from)

    def _exhausted(self, asked: BatchAsked) -> None:
        drawn_from = self._passes.get(asked.iterator)
        if drawn_from is not None:
            self._end(drawn_from)

    def _end(self, ending: Pass) -> None:
        """Iterators that the program keeps are drawn from again, as where a loader is endless: those passes are one."""
        if ending.over or ending.cut or not ending.batches or self._told >= _MOST_TOLD:
            return
        ending.over = True
        self._told += 1
        self.emit(
            PassTimed(
                step=self._course.steps,
                location=locate(ending.where),
                loader=ending.number,
                workers=ending.workers,
                kept=ending.kept,
                batches=ending.batches,
                start=ending.start,
                wait=median(ending.waits) if ending.waits else None,
                since=ending.since,
                cores=os.cpu_count() or 0,
            )
        )
