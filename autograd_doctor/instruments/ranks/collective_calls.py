"""Collectives that the program calls itself: which, where, and after how many steps."""

from __future__ import annotations

from typing import ClassVar

from autograd_doctor.events.event import Event
from autograd_doctor.events.replicas import CollectiveCalled
from autograd_doctor.findings import Location
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.reading.places import here
from autograd_doctor.signals import Signals
from autograd_doctor.signals.collectives import Collective

_MOST = 1000
"""A program that calls some in each step shows soon enough in which order."""


class CollectiveCalls(Instrument):
    """States the first call of a line in each step, before it is made: one that never returns is known as well."""

    emits: ClassVar[tuple[type[Event], ...]] = (CollectiveCalled,)

    def __init__(self, site: Site, course: Course) -> None:
        super().__init__(site)
        self._course = course
        self._last: dict[tuple[str, Location | None], int] = {}
        self._stated = 0

    def connect(self, signals: Signals) -> None:
        self.listen(signals.collectives.begins, self._begins)

    def _begins(self, collective: Collective) -> None:
        if not collective.of_all or self._stated >= _MOST:
            return
        location, step = here(), self._course.steps
        if self._last.get((collective.name, location)) == step:
            return
        self._last[collective.name, location] = step
        self._stated += 1
        self.emit(CollectiveCalled(step=step, collective=collective.name, location=location))
