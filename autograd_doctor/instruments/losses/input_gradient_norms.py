"""Gradient penalties that hold norms to a number which are not each that of one sample's gradient."""

from __future__ import annotations

from collections import Counter
from math import prod
from typing import ClassVar, Literal, NamedTuple

from autograd_doctor.events.event import Event
from autograd_doctor.events.losses import PartialSlopeNorm
from autograd_doctor.findings import Location
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.tape import Tape
from autograd_doctor.operations import MOVES, NORMS, REGRESSION
from autograd_doctor.reading.live_values import look_at
from autograd_doctor.signals import Signals
from autograd_doctor.tape import GRAD, Op, Value, way_from

_SHIFTS = frozenset({"add", "clamp", "clamp_min"})
"""What keeps a norm, or what it is the root of, away from zero."""
_MOST_TOLD = 8

Stage = Literal["values", "squares", "sums", "norms"]


class _Norms(NamedTuple):
    """Where norms were taken of a gradient with a graph, and where that was taken: of how many outputs."""

    slope: Op
    outputs: int
    norm_at: Location | None


class InputGradientNorms(Instrument):
    """Looks where numbers are compared with a number whether they are norms of what `grad(…, create_graph=True)` gave.

    Where each output has one norm, or each row of the input, or something in between, all is well; so it is where each
    of the points in a row has one.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (PartialSlopeNorm,)

    def __init__(self, site: Site, course: Course, tape: Tape) -> None:
        super().__init__(site)
        self._course = course
        self._tape = tape
        self._told: Counter[Location | None] = Counter()

    def connect(self, signals: Signals) -> None:
        self.listen(self._tape.recorded, self._compared, names=REGRESSION | {"sub"})

    def _compared(self, op: Op) -> None:
        norms = _norms(op.values[0]) if op.values else None
        if norms is None or not _is_with_a_number(op) or self._told[norms.norm_at] >= _MOST_TOLD:
            return
        shape, count = norms.slope.output.shape, op.values[0].count
        fewest, most = sorted((norms.outputs, shape[0]))
        if fewest <= count <= most or count == _vectors(shape):
            return
        self._told[norms.norm_at] += 1
        self.emit(
            PartialSlopeNorm(
                step=self._course.steps,
                shape=list(shape),
                rows=shape[0],
                outputs=norms.outputs,
                norms=count,
                location=norms.norm_at,
                taken_at=norms.slope.location,
                compared_at=op.location,
            )
        )


def _norms(value: Value) -> _Norms | None:
    """The norms of a gradient that a value holds: the root of a sum of squares, also where that is written out."""
    way = way_from(value, GRAD)
    outputs = _outputs(way[0]) if way else None
    if way is None or outputs is None or not _is_of_data(way[0]):
        return None
    stage: Stage | None = "values"
    norm_at: Location | None = None
    for op in way[1:]:
        before, stage = stage, _next_stage(stage, op) if stage is not None else None
        norm_at = op.location if stage == "norms" != before else norm_at
    return _Norms(way[0], outputs, norm_at) if stage == "norms" else None


def _is_of_data(slope: Op) -> bool:
    return not slope.values[0].is_parameter and slope.output.learns and len(slope.output.shape) > 1


def _outputs(slope: Op) -> int | None:
    """How many numbers a gradient is that of: the root's, or those that it is the sum of; None if it cannot be told."""
    if len(slope.values) != 2 or not slope.options["create_graph"]:
        return None
    root = slope.values[1]
    if root.count > 1:
        return root.count
    summed = root.by if root.by is not None and root.by.name == "sum" else None
    return summed.values[0].count if summed is not None else None


def _vectors(shape: tuple[int, ...]) -> int | None:
    """How many vectors lie along the last of three dimensions or more, as those of points: each may have its norm."""
    return prod(shape[:-1]) if len(shape) > 2 else None


def _next_stage(stage: Stage, op: Op) -> Stage | None:
    """What an operation makes of a part, on the way to the square root of a sum of squares."""
    if op.name in MOVES or (op.name in _SHIFTS and stage != "values"):
        return stage
    if stage == "values":
        return "norms" if op.name in NORMS else "squares" if op.is_square else None
    if stage == "squares" and op.name == "sum":
        return "sums"
    return "norms" if stage == "sums" and op.name == "sqrt" else None


def _is_with_a_number(op: Op) -> bool:
    """Whether values are compared with one number other than zero."""
    if len(op.operands) < 2:
        return False
    other = op.operands[1]
    if isinstance(other, Value):
        look_at(other)
    low, high = (other.span or (0.0, 1.0)) if isinstance(other, Value) else (other, other)
    return low == high != 0 and op.operands[0] is op.values[0]
