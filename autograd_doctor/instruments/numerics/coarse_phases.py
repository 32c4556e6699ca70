"""Sines and remainders of numbers that are so large that their dtype cannot tell where in a period they are."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from msgspec.structs import replace

from autograd_doctor.events.event import Event
from autograd_doctor.events.numerics import PhaseTaken
from autograd_doctor.findings import Location
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.late_values import LateValues
from autograd_doctor.instruments.spine.tape import Tape
from autograd_doctor.operations import COMPARISONS, MOVES, PRODUCTS
from autograd_doctor.reading.live_values import LiveValue, look_at
from autograd_doctor.reading.subclasses import version_of
from autograd_doctor.reading.tensor_facts import dtype_name, readable
from autograd_doctor.signals import Signals
from autograd_doctor.tape import Labels, Op, Value, labels_behind

_TURN = 2 * math.pi
_PERIODS = {"cos": _TURN, "sin": _TURN, "tan": math.pi}
_ROUND = _PERIODS.keys() | {"fmod", "remainder"}
_LEADS = MOVES | PRODUCTS | {"add", "einsum", "ger", "neg", "outer", "sub"}
"""On the way from positions or times to what a phase is taken of."""
_LEAST = 1 / 16
"""Of a period: numbers that lie closer to each other are not worth telling of."""
_MOST_LOOKS = 4
"""At each line."""
_MOST_VALUES = 2**22


@dataclass(eq=False, slots=True)
class _Phase:
    """One that was taken. is_meant: to round the number itself, or to see whether it is a multiple.

    event: what there is to tell, once it is known that there is.
    """

    given: Value
    output: Value
    is_meant: bool = False
    event: PhaseTaken | None = None


class CoarsePhases(Instrument):
    """Looks at the largest number of which a program takes the sine, the cosine, the tangent or the remainder, where
    the numbers are data, and where these got their dtype.

    It hears of what torch does in the program's main thread before the first step, and in steps that are looked at
    closely.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (PhaseTaken,)

    def __init__(self, site: Site, course: Course, late_values: LateValues, tape: Tape) -> None:
        super().__init__(site)
        self._course = course
        self._late_values = late_values
        self._tape = tape
        self._looks: Counter[Location | None] = Counter()
        self._phases: list[_Phase] = []

    def connect(self, signals: Signals) -> None:
        self.listen(self._tape.recorded, self._taken, names=_ROUND)
        self.listen(self._tape.recorded, self._used, names=COMPARISONS | {"sub"})

    def finish(self) -> None:
        for phase in self._phases:
            if phase.event is not None and not phase.is_meant:
                self.emit(phase.event)

    def _taken(self, op: Op) -> None:
        given = op.operands[0]
        tensor = _data_in(given) if isinstance(given, LiveValue) and not op.in_place else None
        where = op.location
        if tensor is None or self._looks[where] >= _MOST_LOOKS:
            return
        self._looks[where] += 1
        period = _PERIODS.get(op.name) or _period_in(op.operands[1:])
        if not period:
            return
        event = PhaseTaken(
            step=self._course.steps,
            location=where,
            made_at=_made_at(given),
            operation=op.name,
            dtype=dtype_name(tensor),
            period=period,
        )
        sizes = tensor.detach().abs().float().nan_to_num(0, 0, 0)
        precision, largest = torch.finfo(tensor.dtype).eps, sizes.amax()
        phase = _Phase(given, op.output)
        self._phases.append(phase)

        def known(values: Sequence[float]) -> None:
            size, upper = values
            spacing = precision * 2.0 ** math.floor(math.log2(size)) if size else 0.0
            if spacing >= _LEAST * period:
                phase.event = replace(event, largest=size, spacing=spacing, upper=int(upper))

        self._late_values.ask(self, [largest, (sizes >= largest / 2).sum()], known)

    def _used(self, op: Op) -> None:
        for phase in self._phases:
            if phase.output in op.values:
                phase.is_meant |= op.name != "sub" or op.values[0] is phase.given


def _data_in(value: LiveValue) -> torch.Tensor | None:
    """The tensor of a value, where that can be looked at, is of floating-point numbers, and nobody learns these."""
    tensor = value.tensor if value.is_floating and not value.learns else None
    if tensor is None or tensor.requires_grad:
        return None
    is_here = version_of(tensor) == value.version and readable(tensor)
    return tensor if is_here and 0 < tensor.numel() <= _MOST_VALUES else None


def _period_in(operands: Sequence[Any]) -> float:
    """The smallest by which remainders are taken, 0 where that is not known."""
    period = operands[0] if operands else 0.0
    if isinstance(period, Value):
        look_at(period)
        low, high = period.span or (0.0, 0.0)
        return low if low > 0 else -high if high < 0 else 0.0
    return abs(float(period))


def _made_at(value: LiveValue) -> Location | None:
    """Where positions or times became numbers of this dtype, or met others which they cannot be told from."""
    made = labels_behind(value, _origin, live=False).get(value)
    return made.location if made is not None else None


def _origin(op: Op, known: Labels[Op]) -> Op | None:
    """What made a value of whole numbers, or of none, and has changed its dtype last; rates are computed of others."""
    floating = [each for each in op.values if each.is_floating]
    if not floating:
        return op
    before = {known[each] for each in floating if each in known} if op.name in _LEADS else set()
    is_as_before = len(before) == 1 and any(_dtype(each) is _dtype(op.output) for each in floating)
    return next(iter(before)) if is_as_before else op if before else None


def _dtype(value: Value) -> torch.dtype | None:
    return value.dtype if isinstance(value, LiveValue) else None
