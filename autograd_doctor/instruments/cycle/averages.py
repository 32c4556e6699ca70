"""Averages of weights that a program keeps up to date: what was there, and a parameter, each with its weight.

And weights that are trained, into which such a sum of them and of another parameter is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from operator import or_
from typing import ClassVar, NamedTuple

import msgspec
import torch
from torch import nn

from autograd_doctor.events.cycle import AverageRounded, AverageWeighed, TrainedAveraged, UntaughtAveraged
from autograd_doctor.events.event import Event
from autograd_doctor.findings import Location
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.late_values import LateValues
from autograd_doctor.instruments.spine.optimizers import Optimizers
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.instruments.spine.tape import Tape
from autograd_doctor.reading.equal_averages import EqualAverages
from autograd_doctor.reading.live_values import tensor_of
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.rounded_averages import RoundedAverages, is_coarse
from autograd_doctor.reading.tensor_facts import at_home, dtype_name, fingerprints, readable
from autograd_doctor.reading.weighted_sums import value_before, weights_in
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.tape import Op, Value, numbers_in

_MOST_STEPS = 8
"""To be told of, for each line."""
_FEWEST_DUE = 32
"""Numbers that should have moved, of averages that stand still."""
_Weights = tuple[float, float]
_ARRANGED = frozenset({"cat", "concat", "data", "detach", "flatten", "ravel", "reshape", "view"})
"""What makes one vector of many weights."""


class _Assigned(NamedTuple):
    """A sum of what a line made before, and of parameters, as one vector or one by one."""

    step: int
    location: Location | None
    parameters: int
    weights: _Weights


class _Sum(NamedTuple):
    """A weighted sum that was written in place: of what was there, and of parameters."""

    location: Location | None
    written: Value
    parameters: int
    weights: _Weights


class Averages(Instrument):
    """Looks at what is written in place, and at sums that a line makes of its own last ones, in steps that are looked
    at closely.

    It tells of what became of the value when the step is over: an average may be written in two operations. Of sums
    that are assigned, when a later step goes on from them, which shows that they were kept.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (AverageWeighed, AverageRounded, TrainedAveraged, UntaughtAveraged)

    def __init__(
        self,
        site: Site,
        course: Course,
        parameters: Parameters,
        tape: Tape,
        optimizers: Optimizers,
        late_values: LateValues,
    ) -> None:
        super().__init__(site)
        self._late_values = late_values
        self._course = course
        self._parameters = parameters
        self._tape = tape
        self._optimizers = optimizers
        self._sums: dict[Value, _Sum] = {}
        self.equal = EqualAverages()
        self._rounded = RoundedAverages()
        self._looks = 0
        self._is_known_of: set[Location | None] = set()
        self._made: IdentityTable[_Assigned] = IdentityTable()
        self._assigned: list[_Assigned] = []
        self._from_zero: IdentityTable[bool] = IdentityTable()
        self._pulls: dict[int, tuple[Op, int, _Weights]] = {}
        self._untaught_sums: dict[int, tuple[Location | None, _Weights]] = {}
        self._others: dict[Location | None, set[tuple[int, ...]]] = {}
        self._steps: dict[Location | None, int] = {}
        self._first: dict[int, int | None] = {}

    def connect(self, signals: Signals) -> None:
        self.listen(self._tape.recorded, self._written, names=frozenset({"add", "copy", "div", "lerp", "mul", "sub"}))
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.CLOSE)

    def _written(self, op: Op) -> None:
        if not op.output.is_floating or op.output.learns or not op.output.shape:
            return
        weights = weights_in(op.output)
        if op.in_place:
            self._written_in_place(op, weights)
        elif len(weights) == 2:
            self._summed(op, weights)

    def _summed(self, op: Op, weights: dict[Value, float]) -> None:
        taught = [value for value in weights if self._is_taught(value)]
        before = next((value for value in weights if value not in taught), None)
        tensor, kept = tensor_of(op.output), None if before is None else tensor_of(before)
        if len(taught) != 1 or before is None or before.by is not None or tensor is None or kept is None:
            return
        last = self._made.get(kept)
        if last is not None and last.location == op.location and last.step < self._course.steps:
            self._made.discard(kept)
            self._assigned.append(last)
        found = weights[before], weights[taught[0]]
        self._made.put(tensor, _Assigned(self._course.steps, op.location, taught[0].values, found))

    def averaged_at(self, shape: tuple[int, ...]) -> Location | None:
        """The one line that averages tensors of this shape, of which none is trained."""
        lines = [line for line, shapes in self._others.items() if shape in shapes]
        return lines[0] if len(lines) == 1 else None

    def _written_in_place(self, op: Op, weights: dict[Value, float]) -> None:
        before = value_before(op)
        self._sums.pop(before, None)
        others = [value for value in weights if value is not before]
        taught = [value for value in others if self._is_taught(value)]
        if len(weights) == 2 and before in weights and not taught and all(0 < each < 1 for each in weights.values()):
            self._others.setdefault(op.location, set()).add(op.output.shape)
            source = None if self._is_taught(before) else self._source(others[0])
            if source is not None:
                self._untaught_sums[source] = op.location, (weights[before], weights[others[0]])
        if before in weights and taught and not self._is_taught(before):
            if len(weights) == 1 + len(taught) and not self._is_sum_from_zero(op, weights, taught):
                values = reduce(or_, (value.values for value in taught))
                found = weights[before], sum(weights[value] for value in taught)
                self._sums[before] = _Sum(op.location, op.output, values, found)
        elif len(weights) == 2 and before in weights and not taught and self._is_taught(before):
            number = self._untaught(others[0])
            if number is not None:
                self._pulls[number] = op, before.values, (weights[before], weights[others[0]])

    def _is_sum_from_zero(self, op: Op, weights: dict[Value, float], taught: list[Value]) -> bool:
        """Whether it adds whole weights to what began at zero: a sum that is divided by the number of them, discounted
        as they are. At its first update it is what was added."""
        tensor, added = tensor_of(op.output), tensor_of(taught[0])
        if len(taught) != 1 or weights[taught[0]] != 1.0 or tensor is None or added is None:
            return False
        if tensor not in self._from_zero:
            is_it = readable(tensor) and readable(added) and torch.equal(at_home(tensor), at_home(added))
            self._from_zero.put(tensor, is_it)
        return bool(self._from_zero.get(tensor))

    def _is_taught(self, value: Value) -> bool:
        """Whether it is what an optimizer teaches, or all of that as one vector, which is no average."""
        if value.by is not None:
            parts = value.by.values if value.by.name in _ARRANGED else ()
            return bool(parts) and all(map(self._is_taught, parts))
        return value.is_parameter and not value.values & ~self._optimizers.held

    def _untaught(self, value: Value) -> int | None:
        """The number of a parameter that no optimizer holds, if it is one."""
        tensor = tensor_of(value) if value.by is None else None
        number = self._parameters.get(tensor) if tensor is not None else None
        return None if number is None or self._optimizers.holds(number) else number

    def _source(self, value: Value) -> int | None:
        """The same of one that nobody else may have met, as those of a model that is trained no more."""
        tensor = tensor_of(value)
        if value.by is not None or not isinstance(tensor, nn.Parameter):
            return None
        self._parameters.number(tensor)
        return self._untaught(value)

    def _step_taken(self, course: Course) -> None:
        self._tell_of_averages(course)
        self._tell_of_pulls(course)
        self._tell_of_untaught(course)

    def _compare_coarse(self, course: Course) -> None:
        """How many numbers of averages in half precision should have moved by now, and are the same."""
        self._looks += 1
        held: dict[int, torch.Tensor] = {}
        lines: dict[Location | None, list[tuple[AverageRounded, torch.Tensor]]] = {}
        for location, written, bits, (_, new) in self._sums.values():
            average = tensor_of(written)
            if average is None or location in self._is_known_of or not is_coarse(average):
                continue
            held, parameter = held or dict(self._parameters.living()), numbers_in(bits)[0]
            counts = self._rounded.look(average, held.get(parameter), new, look=self._looks, step=course.steps)
            if counts is not None:
                seen = AverageRounded(
                    step=course.steps,
                    location=location,
                    parameters=[parameter],
                    dtype=dtype_name(average),
                    new=new,
                    since=self._rounded.since(average),
                )
                lines.setdefault(location, []).append((seen, counts))
        for found in lines.values():
            together = torch.stack([counts for _, counts in found]).sum(0)
            self._late_values.ask(self, [together], partial(self._counted, [seen for seen, _ in found]))

    def _counted(self, seen: list[AverageRounded], counts: Sequence[torch.Tensor]) -> None:
        due, same = map(int, counts[0].tolist())
        first, parameters = seen[0], sorted(parameter for each in seen for parameter in each.parameters)
        if due >= _FEWEST_DUE and first.location not in self._is_known_of:
            self._is_known_of.add(first.location)
            self.emit(msgspec.structs.replace(first, parameters=parameters, due=due, same=same))

    def _tell_of_averages(self, course: Course) -> None:
        self._compare_coarse(course)
        lines: dict[tuple[Location | None, _Weights], int] = {}
        sums: list[_Sum | _Assigned] = [*self._sums.values(), *self._assigned]
        for written in self._sums.values():
            average = tensor_of(written.written)
            if average is not None:
                self.equal.hear(average, *written.weights, step=course.steps)
        for each in sums:
            key = each.location, each.weights
            lines[key] = lines.get(key, 0) | each.parameters
        self._sums.clear()
        self._assigned.clear()
        for (location, (own, new)), parameters in lines.items():
            if self._is_to_be_told(location):
                self.emit(
                    AverageWeighed(
                        step=course.steps, location=location, parameters=numbers_in(parameters), own=own, new=new
                    )
                )

    def _tell_of_pulls(self, course: Course) -> None:
        """What the trained weights were drawn to."""
        lines: dict[tuple[Location | None, _Weights], list[tuple[int, int]]] = {}
        for number, (op, parameter, weights) in self._pulls.items():
            lines.setdefault((op.location, weights), []).append((number, parameter))
        self._pulls.clear()
        for (location, (own, new)), pairs in lines.items():
            if not self._is_to_be_told(location):
                continue
            towards, moved = self._moved({number for number, _ in pairs})
            self.emit(
                TrainedAveraged(
                    step=course.steps,
                    location=location,
                    parameters=sorted({each for _, bits in pairs for each in numbers_in(bits)}),
                    towards=towards,
                    moved=moved,
                    own=own,
                    new=new,
                )
            )

    def _tell_of_untaught(self, course: Course) -> None:
        lines: dict[tuple[Location | None, _Weights], set[int]] = {}
        for number, key in self._untaught_sums.items():
            lines.setdefault(key, set()).add(number)
        self._untaught_sums.clear()
        if lines:
            self._parameters.introduce()
        for (location, (own, new)), numbers in lines.items():
            if self._is_to_be_told(location):
                parameters, moved = self._moved(numbers)
                self.emit(
                    UntaughtAveraged(
                        step=course.steps, location=location, parameters=parameters, moved=moved, own=own, new=new
                    )
                )

    def _is_to_be_told(self, location: Location | None) -> bool:
        self._steps[location] = self._steps.get(location, 0) + 1
        return self._steps[location] <= _MOST_STEPS

    def _moved(self, numbers: set[int]) -> tuple[list[int], list[int]]:
        """Those parameters that live, and those of them that have other values than they had at first."""
        values = self._values_of(numbers)
        return sorted(values), sorted(n for n, value in values.items() if self._first.setdefault(n, value) != value)

    def _values_of(self, numbers: set[int]) -> dict[int, int | None]:
        living = [(number, parameter) for number, parameter in self._parameters.living() if number in numbers]
        return dict(zip((n for n, _ in living), fingerprints([parameter for _, parameter in living]), strict=True))
