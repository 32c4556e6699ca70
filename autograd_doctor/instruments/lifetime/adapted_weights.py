"""Weights that a step by hand makes, as in meta-learning, and whether anything uses them."""

from __future__ import annotations

from collections import Counter
from typing import ClassVar

from autograd_doctor.events.event import Event
from autograd_doctor.events.lifetime import WeightsAdapted
from autograd_doctor.findings import Location
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.tape import Tape
from autograd_doctor.operations import SCALING
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.optimizers import StepCall
from autograd_doctor.tape import GRAD, Op, Value, way_from

_MOST = 256
"""Weights that wait for the step at one time."""
_Lines = tuple[Location | None, Location | None]


class AdaptedWeights(Instrument):
    """Notes each sum of a value and its own gradient, `p - lr * g`, and asks at the step who used it."""

    emits: ClassVar[tuple[type[Event], ...]] = (WeightsAdapted,)

    def __init__(self, site: Site, course: Course, tape: Tape) -> None:
        super().__init__(site)
        self._course = course
        self._tape = tape
        self._waiting: list[tuple[Op, _Lines]] = []
        self._made: Counter[_Lines] = Counter()
        self._idle: Counter[_Lines] = Counter()

    def connect(self, signals: Signals) -> None:
        self.listen(self._tape.recorded, self._recorded, names={"add", "sub"})
        self.listen(signals.steps.began, self._step_began, attention=Attention.LIGHT)

    def finish(self) -> None:
        for lines, made in self._made.items():
            location, taken_at = lines
            self.emit(
                WeightsAdapted(
                    step=self._course.steps,
                    location=location,
                    taken_at=taken_at,
                    made=made,
                    idle=self._idle[lines],
                )
            )

    def _recorded(self, op: Op) -> None:
        if len(op.values) != 2 or len(self._waiting) >= _MOST:
            return
        slope = _slope(*op.values) or _slope(*reversed(op.values))
        if slope is not None:
            self._waiting.append((op, (op.location, slope.location)))

    def _step_began(self, call: StepCall) -> None:
        for op, lines in self._waiting:
            if op.outputs:  # those of a step before have been forgotten
                self._made[lines] += 1
                self._idle[lines] += not op.output.uses
        self._waiting.clear()


def _slope(weight: Value, change: Value) -> Op | None:
    """Where the gradient of a weight was taken of which a change of it was made, by factors alone."""
    way = way_from(change, GRAD)
    if not way or not way[0].options["create_graph"] or not all(op.name in SCALING | {"neg"} for op in way[1:]):
        return None
    return way[0] if way[0].values[0] is weight else None
