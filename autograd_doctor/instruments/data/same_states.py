"""States and the states after them that are the same, in losses whose targets are bootstrapped.

A bootstrapped target is data plus a discounted prediction for what comes next, without a gradient (Sutton and Barto,
Reinforcement Learning, 2018, section 6.1). Where that is made of the very state that the prediction is made of, nothing
has come next: an environment that writes to the array it has returned, or a field of the batch that is read twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

import torch
from msgspec.structs import replace

from autograd_doctor.events.data import NextStatesTheSame
from autograd_doctor.events.event import Event
from autograd_doctor.findings import Location
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.late_values import LateValues
from autograd_doctor.instruments.spine.tape import Tape
from autograd_doctor.operations import BY_DIFFERENCE, LOOK_UPS, MOVES
from autograd_doctor.reading.live_values import tensor_of
from autograd_doctor.reading.tensor_facts import readable
from autograd_doctor.signals import Signals
from autograd_doctor.tape import Op, Value, behind, source_of

_LEAST_ROWS = 8
_MOST_ROWS = 256
"""Of a batch, which are compared."""
_MOST_GIVEN = 8
_MOST_TOLD = 32
"""Of a line: states may stand still at first."""


class SameStates(Instrument):
    """Compares, in steps that are looked at closely, what models were given for both sides of a bootstrapped loss."""

    emits: ClassVar[tuple[type[Event], ...]] = (NextStatesTheSame,)

    def __init__(self, site: Site, course: Course, tape: Tape, late_values: LateValues) -> None:
        super().__init__(site)
        self._course = course
        self._tape = tape
        self._late_values = late_values
        self._told: dict[Location | None, int] = {}

    def connect(self, signals: Signals) -> None:
        self.listen(self._tape.recorded, self._compared, names=BY_DIFFERENCE)

    def _compared(self, op: Op) -> None:
        if len(op.values) != 2 or len(op.live) != 1 or op.plain[0].count < _LEAST_ROWS:
            return
        sides = bootstrapped(op.plain[0])
        where = op.location if sides is not None else None
        if sides is None or self._told.get(where, 0) >= _MOST_TOLD:
            return
        added, predicted = sides
        before, after = given_to([op.live[0]]), given_to([predicted])
        if any(_moved(added) is _moved(each) for each in after):
            return  # a step of an integrator: what a model says is added to what it was given
        asked = [[_same(one, other) for one in before] for other in after]
        answers = [[each for each in row if each is not None] for row in asked]
        if answers and all(answers):
            self._told[where] = self._told.get(where, 0) + 1
            made = next((other.by.location for other in after if other.by is not None), None)
            counts = [len(row) for row in answers]
            facts = NextStatesTheSame(
                step=self._course.steps,
                location=where,
                made_at=made,
                rows=after[0].shape[0],
                same=False,
                masked=_is_masked(predicted),
            )
            told = partial(self._arrived, facts, counts)
            self._late_values.ask(self, [each for row in answers for each in row], told)

    def _arrived(self, facts: NextStatesTheSame, counts: Sequence[int], values: Sequence[Any]) -> None:
        """counts: for each part of the next state, with how many parts of the state it was compared."""
        answers = iter(values)
        found = [[bool(next(answers)) for _ in range(count)] for count in counts]
        self.emit(replace(facts, same=all(map(any, found))))


def bootstrapped(target: Value) -> tuple[Value, Value] | None:
    """The data and the discounted prediction that a bootstrapped target is the sum of. None for any other value."""
    op = source_of(target, MOVES).by
    if op is None or op.name != "add" or len(op.values) != 2:
        return None
    one, other = op.values
    added, predicted = (one, other) if other.values else (other, one)
    is_bootstrapped = not added.values and predicted.values and _is_discounted(predicted) and not _is_discounted(added)
    return (added, predicted) if is_bootstrapped else None


def _is_discounted(value: Value) -> bool:
    """Whether a number between 0 and 1 is among its factors, or among those of data that it is multiplied by."""
    pending = [value]
    while pending:
        op = source_of(pending.pop(), MOVES).by
        if op is not None and op.name == "mul":
            if any(0 < number < 1 for number in op.numbers):
                return True
            pending += op.values
    return False


def _is_masked(value: Value) -> bool:
    """Whether data tell of each row whether, or how much, it goes on."""
    op = source_of(value, MOVES).by
    if op is None or op.name != "mul":
        return False
    return any((not each.values and each.count > 1) or _is_masked(each) for each in op.values)


def given_to(values: Sequence[Value]) -> list[Value]:
    """The data, as rows of numbers, that parameters first met on the way to these values."""
    found: dict[Value, None] = {}
    for op in behind(values, live=False):
        if op.output.values:
            found |= {each: None for each in op.values if _is_rows(each)}
    return list(found)[:_MOST_GIVEN]


def _is_rows(value: Value) -> bool:
    return not value.values and value.is_floating and len(value.shape) > 1 and value.shape[0] >= _LEAST_ROWS


def _moved(value: Value) -> Value:
    """What a value was before it was given another shape or place: rows that are looked up are another one."""
    return source_of(value, MOVES - LOOK_UPS)


def _same(one: Value, other: Value) -> torch.Tensor | None:
    """Whether two values are equal, and their rows are not; None where they cannot be compared, or one is the other."""
    tensors = tensor_of(one), tensor_of(other)
    if one.shape != other.shape or _moved(one) is _moved(other):
        return None
    if tensors[0] is None or tensors[1] is None or not (readable(tensors[0]) and readable(tensors[1])):
        return None
    if tensors[0].device != tensors[1].device:
        return None
    first, second = tensors[0][:_MOST_ROWS], tensors[1][:_MOST_ROWS]
    return (first == second).all() & (first[1:] != first[:-1]).any()
