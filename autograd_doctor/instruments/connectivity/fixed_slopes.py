"""Derivatives with respect to data that `autograd.grad` gave without a graph, added to what has one.

Such a sum, as the residual of a differential equation, learns through its other summands only. Followed is the
derivative itself, scaled by data, moved, or added to data; a `detach()` says that it is to be fixed, and data that it
is added to after it was taken with respect to them are being moved themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from autograd_doctor.events.connectivity import FixedSlopeAdded
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.loss_query import LossQuery
from autograd_doctor.instruments.spine.optimizers import Optimizers
from autograd_doctor.instruments.spine.tape import Tape
from autograd_doctor.operations import ADDING, MOVES, PRODUCTS, REARRANGEMENTS, SUMS
from autograd_doctor.reading.live_values import LiveValue
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.tape import GRAD, Labels, Op, Value, behind, labels_behind, numbers_in, source_of


class FixedSlopes(LossQuery):
    """Tells, when a backward begins, of the sums behind it."""

    emits: ClassVar[tuple[type[Event], ...]] = (FixedSlopeAdded,)

    def __init__(self, site: Site, course: Course, tape: Tape, optimizers: Optimizers) -> None:
        super().__init__(site, course, tape)
        self._optimizers = optimizers

    def _ask(self, roots: Sequence[Value], call: BackwardCall) -> None:
        slopes: Labels[Op] = {}
        for root in roots:
            slopes |= labels_behind(root, _slope, live=False)
        for op in behind(roots) if slopes else ():
            slope = next((slopes[value] for value in op.plain if value in slopes), None)
            if slope is not None and op.name in ADDING:
                self._added(op, slope)

    def _added(self, op: Op, slope: Op) -> None:
        connected = 0
        for value in op.live:
            connected |= value.connected
        shared = _depends_on(slope.output) & connected & self._optimizers.held
        if not shared or not self._is_news(op.location):
            return
        self.emit(
            FixedSlopeAdded(
                step=self._course.steps,
                backward=self._course.backwards,
                taken_at=slope.location,
                added_at=op.location,
                operation=op.called,
                parameters=numbers_in(shared),
            )
        )


def _slope(op: Op, known: Labels[Op]) -> Op | None:
    """The derivative that a value is, moved, scaled by data or added to other data."""
    if op.name == GRAD:
        return op if not op.options["create_graph"] and _is_by_data(op) and op.output.values else None
    slope = next((known[value] for value in op.values if value in known), None)
    if slope is None or op.live or op.in_place or op.name not in SUMS | PRODUCTS | REARRANGEMENTS:
        return None
    data = slope.values[0]
    moves_data = op.name in SUMS and any(source_of(value, MOVES) is data for value in op.values)
    return None if moves_data else slope


def _is_by_data(slope: Op) -> bool:
    """Whether it is by a leaf that is not to learn, into which no parameter flows."""
    data = slope.values[0]
    return not data.is_parameter and not data.learns and not _depends_on(data)


def _depends_on(value: Value) -> int:
    return value.seen_values if isinstance(value, LiveValue) else 0
