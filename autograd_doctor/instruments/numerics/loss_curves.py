"""The losses of all steps, recorded or light, line by line: a curve, kept as the ranges of a few losses at a time."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

from autograd_doctor.events.event import Event
from autograd_doctor.events.numerics import LossesFollowed
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.backward_runs import BackwardRuns
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.light_steps import LightSteps
from autograd_doctor.reading.places import Place, locate, place
from autograd_doctor.signals import Signals
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.signals.transforms import TransformCall

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
    """Takes the number that the others have read of the loss of a backward, and reads that of a transform."""

    emits: ClassVar[tuple[type[Event], ...]] = (LossesFollowed,)

    def __init__(self, site: Site, course: Course, light_steps: LightSteps, backward_runs: BackwardRuns) -> None:
        super().__init__(site)
        self._course = course
        self._stretches: dict[Place | None, _Stretch] = {}

    def connect(self, signals: Signals) -> None:
        self.listen(signals.backward.began, self._backward_began, last=True)
        self.listen(signals.transforms.ended, self._transform_ended, last=True)

    def finish(self) -> None:
        for where in list(self._stretches):
            self._say(where)

    def _backward_began(self, call: BackwardCall) -> None:
        if call.kind == "backward" and call.roots[0].numel() == 1:
            self._add(self._course.last_loss)

    def _transform_ended(self, call: TransformCall) -> None:
        """Its value is a plain number: the graph is gone."""
        if call.value is not None:
            self._course.loss_seen(float(call.value))
            self._add(self._course.last_loss)

    def _add(self, loss: float | None) -> None:
        where = place()
        if loss is None:
            return
        stretch = self._stretches.get(where)
        if stretch is None:
            if len(self._stretches) >= _MOST_LINES:
                return
            stretch = self._stretches[where] = _Stretch(self._course.steps)
        stretch.add(self._course.steps, loss)
        if stretch.backwards >= _TOLD_TOGETHER:
            self._say(where)

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
