"""Bootstrapped targets that leave the prediction out in some rows: does anything come after these, or after the others?

Which of two marks says that an episode goes on, the marks do not tell. The data do: where it goes on, the state after a
row is that of another row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from autograd_doctor.events.event import Event
from autograd_doctor.events.losses import PredictionsLeftOut
from autograd_doctor.instruments.instrument import Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.loss_query import LossQuery
from autograd_doctor.instruments.spine.tape import Tape
from autograd_doctor.operations import BY_DIFFERENCE, JOINS
from autograd_doctor.reading.fingerprint import row_keys
from autograd_doctor.reading.live_values import LiveOp, LiveValue, held_by, tensor_of
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.tensor_facts import readable
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.tape import Op, Value, behind

_LEAVES_OUT = frozenset({"masked_fill", "mul", "where"})
_ENTERED_BY = frozenset({"addmm", "cat", "conv1d", "conv2d", "gru", "linear", "lstm", "matmul"})
_LEAST, _MOST = 8, 2**12
"""Rows of a target."""
_MOST_KEYS = 2**15
"""Rows to keep in mind, of states and of each line: those of some hundred batches."""


class LeftOutPredictions(LossQuery):
    """In steps that are looked at closely. Of data, only numbers that tell rows apart are kept."""

    emits: ClassVar[tuple[type[Event], ...]] = (PredictionsLeftOut,)

    def __init__(self, site: Site, course: Course, tape: Tape) -> None:
        super().__init__(site, course, tape)
        self._kept: dict[Op, list[bool]] = {}
        self._entered: dict[Value, list[int]] = {}
        """Data from which something is computed without a graph, which keeps none of them alive."""
        self._states: set[int] = set()
        self._after: dict[tuple[Place | None, Place | None], list[tuple[int, bool]]] = {}

    def connect(self, signals: Signals) -> None:
        super().connect(signals)
        self.listen(self._tape.recorded, self._computed, names=_ENTERED_BY)
        self.listen(self._tape.recorded, self._masked, names=_LEAVES_OUT)
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.CLOSE)

    def _step_taken(self, course: Course) -> None:
        self._kept.clear()
        self._entered.clear()

    def _computed(self, op: Op) -> None:
        for value in _data(op) if not op.output.learns else ():
            if value.shape[0] in range(_LEAST, _MOST):
                self._entered[value] = _keys(value)

    def _masked(self, op: Op) -> None:
        kept = _kept_by(op)
        if kept is not None and any(kept) and not all(kept):
            self._kept[op] = kept

    def _ask(self, roots: Sequence[Value], call: BackwardCall) -> None:
        for op in behind(roots) if self._kept else ():
            if op.name in BY_DIFFERENCE and len(op.live) == 1 and len(op.plain) == 1:
                self._compared(op, op.live[0], behind(op.plain, live=False))

    def _compared(self, op: Op, prediction: Value, target: list[Op]) -> None:
        if not any(_adds_data(each) for each in target) or len(self._states) >= _MOST_KEYS:
            return
        for masked in target:
            kept = self._kept.get(masked)
            if kept is None:
                continue
            for state in _entries(prediction, len(kept)):
                self._states.update(_keys(state))
            after = self._after.setdefault((_place(masked), _place(op)), [])
            for state in _entries(masked.output, len(kept)) if len(after) < _MOST_KEYS else ():
                after += zip(self._entered.get(state, ()), kept, strict=False)

    def finish(self) -> None:
        for (location, compared_at), rows in self._after.items():
            kept = sum(kept for _, kept in rows)
            followed = [kept for key, kept in rows if key in self._states]
            self.emit(
                PredictionsLeftOut(
                    step=self._course.steps,
                    location=locate(location),
                    compared_at=locate(compared_at),
                    kept=kept,
                    kept_followed=sum(followed),
                    left_out=len(rows) - kept,
                    left_out_followed=len(followed) - sum(followed),
                )
            )


def _kept_by(op: Op) -> list[bool] | None:
    """In which rows a prediction without a graph is kept, by numbers that are zero in the others."""
    predicted = [value for value in op.values if _made_of(value) and not value.learns]
    marks = [value for value in op.values if not _made_of(value) and value.count in range(_LEAST, _MOST)]
    if len(predicted) != 1 or not marks or marks[0].count != predicted[0].count:
        return None
    tensor = tensor_of(marks[0])
    if tensor is None or not readable(tensor) or tensor.is_complex():
        return None
    numbers = tensor.detach().reshape(-1).float()
    highest = numbers.max()
    if bool((highest <= 0) | ((numbers != 0) & (numbers != highest)).any()):
        return None
    fills = op.name == "masked_fill" or (op.name == "where" and op.operands[1] is not predicted[0])
    kept: list[bool] = ((numbers == 0) if fills else (numbers != 0)).tolist()
    return kept


def _made_of(value: Value) -> int:
    """The parameters, as bits, whose values flow into it: not by way of what an environment made of an action."""
    return value.seen_values if isinstance(value, LiveValue) else value.values


def _adds_data(op: Op) -> bool:
    """As a reward to what is expected after it."""
    is_data = (not _made_of(value) and value.is_floating and value.count >= _LEAST for value in op.values)
    return op.name == "add" and any(_made_of(value) for value in op.values) and any(is_data)


def _data(op: Op) -> Iterator[Value]:
    """What meets parameters in an operation, or what was made of them, and is itself made of none."""
    if any(_made_of(value) for value in op.values):
        yield from (value for value in op.values if not _made_of(value) and value.is_floating and len(value.shape) > 1)


def _entries(value: Value, rows: int) -> Iterator[Value]:
    """The data of so many rows that a value was computed from, and what they were put together from."""
    for op in behind([value], live=False):
        for data in _data(op):
            joined = data.by.values if data.by is not None and data.by.name in JOINS else ()
            yield from (each for each in (data, *joined) if each.shape[:1] == (rows,) and each.count > rows)


def _keys(value: Value) -> list[int]:
    tensor = held_by(value)
    return (row_keys(tensor, waits=True) or []) if tensor is not None else []


def _place(op: Op) -> Place | None:
    return op.place if isinstance(op, LiveOp) else None
