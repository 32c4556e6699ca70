"""The losses of all steps, recorded or light, line by line: a curve, kept as the ranges of a few losses at a time."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

from autograd_doctor.events.event import Event
from autograd_doctor.events.numerics import LossesFollowed
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.late_losses import KnownLoss, LateLosses
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.signals import Signals

_TOLD_TOGETHER = 10
"""So many losses at a time tell a curve, and keep the trace of 10,000 steps small."""
_MOST_LINES = 100
"""Lines at which a program runs backwards: there are a few, unless code is made anew all the time."""


_EARLY = 64
"""Of the first steps each loss is told: a page can draw them as they were."""


@dataclass(slots=True)
class _Stretch:
    """Some losses in a row."""

    first: int
    backwards: int = 0
    opening: float | None = None
    last: float | None = None
    low: float = math.inf
    high: float = -math.inf
    non_finite: int = 0
    early: list[tuple[int, float]] = field(default_factory=list)

    def add(self, step: int, loss: float) -> None:
        self.backwards += 1
        if step < _EARLY:
            self.early.append((step, loss))
        if not math.isfinite(loss):
            self.non_finite += 1
            return
        self.opening = loss if self.opening is None else self.opening
        self.last = loss
        self.low, self.high = min(self.low, loss), max(self.high, loss)


class LossCurves(Instrument):
    """Keeps what others have read of the losses of backwards and transforms."""

    emits: ClassVar[tuple[type[Event], ...]] = (LossesFollowed,)

    def __init__(self, site: Site, course: Course, late_losses: LateLosses) -> None:
        super().__init__(site)
        self._course = course
        self._late_losses = late_losses
        self._stretches: dict[Place | None, _Stretch] = {}

    def connect(self, signals: Signals) -> None:
        self.listen(self._late_losses.known, self._known)

    def finish(self) -> None:
        for where in list(self._stretches):
            self._say(where)

    def _known(self, loss: KnownLoss) -> None:
        if loss.kind == "grad":
            return
        stretch = self._stretches.get(loss.place)
        if stretch is None:
            if len(self._stretches) >= _MOST_LINES:
                return
            stretch = self._stretches[loss.place] = _Stretch(loss.step)
        stretch.add(loss.step, loss.value)
        if stretch.backwards >= _TOLD_TOGETHER:
            self._say(loss.place)

    def _say(self, where: Place | None) -> None:
        stretch = self._stretches.pop(where)
        known = stretch.opening is not None
        self.emit(
            LossesFollowed(
                step=self._course.steps,
                location=locate(where),
                first=stretch.first,
                backwards=stretch.backwards,
                opening=stretch.opening,
                last=stretch.last,
                low=stretch.low if known else None,
                high=stretch.high if known else None,
                non_finite=stretch.non_finite,
                early=stretch.early,
            )
        )
