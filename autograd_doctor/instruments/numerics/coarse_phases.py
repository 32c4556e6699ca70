"""Sines and remainders of numbers that their dtype has rounded by more than a period has room for."""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Callable, Sequence
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
from autograd_doctor.instruments.spine.lineage import Lineage
from autograd_doctor.instruments.spine.tape import Tape
from autograd_doctor.operations import COMPARISONS, JOINS, MOVES
from autograd_doctor.reading.live_values import LiveValue, held_by, look_at
from autograd_doctor.reading.low_precision import is_low
from autograd_doctor.reading.operation_kinds import FROM_DATA
from autograd_doctor.reading.tensor_facts import dtype_name, is_remote, readable
from autograd_doctor.reading.without_running import is_array
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.operations import Operation
from autograd_doctor.tape import Labels, Op, Value, labels_behind

_TURN = 2 * math.pi
_PERIODS = {"cos": _TURN, "sin": _TURN, "tan": math.pi}
_ROUND = _PERIODS.keys() | {"fmod", "remainder"}
_COMPUTED: dict[str, Callable[[Any, Any], torch.Tensor]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv,
    "matmul": operator.matmul, "outer": torch.outer, "ger": torch.outer,
}  # fmt: skip
_LEADS = MOVES | JOINS | _COMPUTED.keys()
"""On the way from positions or times to what a phase is taken of."""
_LEAST = 1 / 16
"""Of a period: what is off by less is not worth telling of."""
_FEWEST = 8
"""Numbers that are off by so much: one may be what fills an empty place."""
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
    """Computes once more, in float64, what was rounded to 16 bits, or to any floating-point numbers from whole ones,
    and looks at that of which a program takes the sine, the cosine, the tangent or the remainder. What is learned is
    left alone, and so is what is exact, as even numbers are beyond the limit of a dtype.

    It hears of what torch does in the program's main thread before the first step, and in steps that are looked at
    closely.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (PhaseTaken,)

    def __init__(self, site: Site, course: Course, late_values: LateValues, lineage: Lineage, tape: Tape) -> None:
        super().__init__(site)
        self._course = course
        self._late_values = late_values
        self._lineage = lineage
        self._tape = tape
        self._looks: Counter[Location | None] = Counter()
        self._phases: list[_Phase] = []
        self._errors: dict[Value, torch.Tensor] = {}
        """By how much values are off what they were made of, left where they are."""

    def connect(self, signals: Signals) -> None:
        self.listen(self._tape.recorded, self._made, names=_LEADS | {"arange"})
        self.listen(self._lineage.operated, self._imported, names=FROM_DATA)
        self.listen(self._tape.recorded, self._taken, names=_ROUND)
        self.listen(self._tape.recorded, self._used, names=COMPARISONS | {"sub"})
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.CLOSE)

    def finish(self) -> None:
        for phase in self._phases:
            if phase.event is not None and not phase.is_meant:
                self.emit(phase.event)

    def _step_taken(self, course: Course) -> None:
        self._errors.clear()

    # ------------------------------------------------------------------------------------------------------- rounding

    def _made(self, op: Op) -> None:
        """What was off before is off by as much, or as many times that."""
        output = op.output
        tensor = _data_in(output) if not (op.in_place or output.values) else None
        if tensor is None:
            return
        exact = _exact(op, tensor) if _may_round(op, tensor) else None
        found = [] if exact is None or exact.shape != tensor.shape else [_off(exact, tensor)]
        found += self._carried(op) if self._errors else []
        if found:
            self._errors[output] = sum(found[1:], found[0])  # of two devices, maybe

    def _carried(self, op: Op) -> list[torch.Tensor]:
        errors = [(place, self._errors[value]) for place, value in enumerate(op.values) if value in self._errors]
        if op.name in MOVES:
            return [error for place, error in errors if place == 0]
        if op.name not in _COMPUTED or op.name in ("add", "sub"):
            return [error for _, error in errors]
        return [error * factor for place, error in errors if (factor := _factor(op, place)) is not None]

    def _imported(self, operation: Operation) -> None:
        """An array of whole numbers, or of more bits."""
        given: Any = operation.args[0] if operation.args else None
        result = operation.result
        if not isinstance(result, torch.Tensor) or not result.is_floating_point() or not _is_wide_array(given):
            return
        if is_remote(result):
            self.limited("arrays that are made tensors on an accelerator are not compared with these")
            return
        value = self._tape.value(result)
        tensor = _data_in(value)
        if tensor is not None and tensor.shape == given.shape:
            self._errors[value] = _off(torch.from_numpy(given.astype("float64")), tensor)

    # --------------------------------------------------------------------------------------------------------- phases

    def _taken(self, op: Op) -> None:
        given = op.operands[0]
        error = self._errors.get(given) if isinstance(given, LiveValue) and not op.in_place else None
        tensor = _data_in(given) if error is not None else None
        where = op.location
        if tensor is None or error is None or self._looks[where] >= _MOST_LOOKS:
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
        phase = _Phase(given, op.output)
        self._phases.append(phase)

        def known(values: Sequence[float]) -> None:
            largest, off = values
            if off >= _LEAST * period:
                phase.event = replace(event, largest=largest, error=off)

        self._late_values.ask(self, [tensor.detach().abs().amax().double(), error], known)

    def _used(self, op: Op) -> None:
        for phase in self._phases:
            if phase.output in op.values:
                phase.is_meant |= op.name != "sub" or op.values[0] is phase.given


def _data_in(value: Value) -> torch.Tensor | None:
    """The tensor of a value, where that can be looked at, is of floating-point numbers, and nobody learns them."""
    tensor = _held(value) if value.is_floating and not value.learns else None
    return tensor if tensor is not None and not tensor.requires_grad else None


def _held(value: Value) -> torch.Tensor | None:
    """The tensor that holds a value still, if it is small and can be read."""
    tensor = held_by(value)
    return tensor if tensor is not None and readable(tensor) and 0 < tensor.numel() <= _MOST_VALUES else None


def _may_round(op: Op, result: torch.Tensor) -> bool:
    """Whether floating-point numbers are made of whole ones, or get 16 bits; to choose some changes none."""
    if op.name in MOVES:
        before = op.values[0]
        return before.kind == "int" or (
            is_low(result) and isinstance(before, LiveValue) and before.dtype != result.dtype
        )
    return is_low(result) or any(value.kind == "int" for value in op.values)


def _exact(op: Op, result: torch.Tensor) -> torch.Tensor | None:
    """The result in float64, None where it cannot be computed from what is there."""
    if op.name == "arange":
        return torch.arange(*op.numbers, dtype=torch.float64, device=result.device) if op.numbers else None
    held = [_held(each) if isinstance(each, Value) else each for each in op.operands]
    operands = [each.detach().double() if isinstance(each, torch.Tensor) else each for each in held]
    if any(each is None for each in operands):
        return None
    if op.name in MOVES:
        return operands[0]
    return _COMPUTED[op.name](*operands) if op.name in _COMPUTED and len(operands) == 2 and not op.options else None


def _off(exact: torch.Tensor, result: torch.Tensor) -> torch.Tensor:
    """By how much a few numbers are off, at the least, and all others less."""
    apart = (exact - result.detach().double()).abs().nan_to_num(0, 0, 0).flatten()
    return apart.topk(min(_FEWEST, len(apart))).values[-1]


def _factor(op: Op, place: int) -> torch.Tensor | float | None:
    """How large what one operand is multiplied or divided by is at most, None where that is not known."""
    is_first = op.operands[0] is op.values[place]
    other = op.operands[1 if is_first else 0] if len(op.operands) == 2 else None
    size = _held(other) if isinstance(other, Value) else other
    if size is None or (op.name == "div" and not is_first):
        return None
    sizes = size.detach().double().abs() if isinstance(size, torch.Tensor) else abs(size)
    if op.name == "div":
        return 1 / (sizes.amin() if isinstance(sizes, torch.Tensor) else sizes)
    return sizes.amax() if isinstance(sizes, torch.Tensor) else sizes


def _is_wide_array(given: Any) -> bool:
    return is_array(given) and given.dtype.kind in "iuf" and given.dtype.itemsize > 2


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
