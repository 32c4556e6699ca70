"""Which parameters have their values from elsewhere: a state that was loaded, a file, arrays of other libraries.

Before the first step, the values that a parameter begins with are followed, be it made of them, or be they copied into
it. What nobody saw made came from elsewhere; what was drawn, filled, or written out in numbers did not.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from enum import Enum, auto
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import torch
from torch import nn
from torch.nn.parameter import is_lazy

from autograd_doctor.events.data import WeightsLoaded
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.lineage import Lineage
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.instruments.spine.tape import Tape
from autograd_doctor.instruments.spine.tensors import Tensors
from autograd_doctor.operations import DRAWS
from autograd_doctor.reading.live_values import tensor_of
from autograd_doctor.reading.module_tree import parameters_in
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.operation_kinds import FROM_DATA, SHAPE_ONLY
from autograd_doctor.reading.provenance import address
from autograd_doctor.reading.without_running import is_a
from autograd_doctor.signals import Signals
from autograd_doctor.signals.operations import Operation
from autograd_doctor.signals.registration import Registered
from autograd_doctor.signals.states import StateLoad
from autograd_doctor.tape import Op, Value

_SOURCES = FROM_DATA
_FILLS = SHAPE_ONLY | {"fill_", "zero_"}
_NEWEST = 64
"""Values that may be about to become a parameter: those that its line makes."""


class _Origin(Enum):
    """Where values came from. SET: by numbers that the program holds, as zeros."""

    ELSEWHERE = auto()
    DRAWN = auto()
    SET = auto()


class LoadedWeights(Instrument):
    """Tells of them after the next step, when those that are trained have their numbers."""

    emits: ClassVar[tuple[type[Event], ...]] = (WeightsLoaded,)

    def __init__(
        self, site: Site, course: Course, parameters: Parameters, tensors: Tensors, lineage: Lineage, tape: Tape
    ) -> None:
        super().__init__(site)
        self._course = course
        self._parameters = parameters
        self._tensors = tensors
        self._lineage = lineage
        self._tape = tape
        self._loaded: IdentityTable[int] = IdentityTable()
        self._origins: IdentityTable[_Origin] = IdentityTable()
        self._behind: dict[int, _Origin] = {}
        """Of parameters, by their numbers, what was last written through an alias."""
        self._made: WeakKeyDictionary[Value, _Origin] = WeakKeyDictionary()
        self._newest: dict[int, _Origin] = {}
        """Of values, by where they lie."""

    def connect(self, signals: Signals) -> None:
        self.listen(signals.states.loaded, self._state_loaded)
        self.listen(signals.loads.read, self._read)
        self.listen(signals.registration.parameter, self._registered)
        self.listen(self._tape.recorded, self._recorded)
        self.listen(self._lineage.operated, self._operated, names=_SOURCES | {"data.__set__"})
        self.listen(self._course.step_taken, self._tell)

    def finish(self) -> None:
        self._tell(self._course)

    def _state_loaded(self, load: StateLoad) -> None:
        missing = set(load.missing or ())
        self._put_loaded(parameter for path, parameter in parameters_in(load.module) if path not in missing)

    def _read(self, result: Any) -> None:
        """Whole modules may be in a file."""
        for each in result.values() if type(result) is dict else (result,):
            if is_a(each, nn.Module):
                self._put_loaded(parameter for _, parameter in parameters_in(each))

    def _put_loaded(self, parameters: Iterable[torch.Tensor]) -> None:
        for parameter in parameters:
            if self._course.steps:
                self._loaded.put(parameter, self._course.steps)
            else:
                self._begins(parameter, _Origin.ELSEWHERE)
        self.listen(self._course.step_taken, self._tell)

    # ---------------------------------------------------------------------------------------- before the first step

    def _registered(self, registered: Registered) -> None:
        given = registered.given
        if isinstance(given, nn.Parameter) and not is_lazy(given) and given not in self._origins:
            self._begins(given, self._newest.get(address(given), _Origin.ELSEWHERE))

    def _begins(self, parameter: torch.Tensor, origin: _Origin) -> None:
        self._origins.put(parameter, origin)
        self._behind.pop(self._number(parameter), None)

    def _recorded(self, op: Op) -> None:
        origin = self._label(op)
        for value in op.outputs:
            tensor = tensor_of(value)
            if tensor is None or not value.is_floating:
                continue
            self._made[value] = origin
            made = self._tensors.get(tensor) if op.in_place else None
            if op.in_place and tensor in self._origins:
                self._begins(tensor, origin)
            elif made is not None and made.alias_of is not None:
                self._behind[made.alias_of] = origin
            elif not value.learns:
                self._lies(tensor, origin)
            if op.in_place and tensor._base is not None:
                self._changes(tensor._base, origin, whole=tensor._base.numel() == tensor.numel())

    def _changes(self, base: torch.Tensor, origin: _Origin, *, whole: bool) -> None:
        """A view of it was written to."""
        if base in self._origins:
            self._begins(base, origin if whole else _united((origin, self._origins.get(base) or origin)))
            return
        known = self._newest.get(address(base), origin)
        origin = origin if whole else _united((origin, known))
        self._made[self._tape.value(base)] = origin
        self._lies(base, origin)

    def _lies(self, tensor: torch.Tensor, origin: _Origin) -> None:
        self._newest.pop(address(tensor), None)
        self._newest[address(tensor)] = origin
        if len(self._newest) > _NEWEST:
            del self._newest[next(iter(self._newest))]

    def _operated(self, operation: Operation) -> None:
        """What the tape does not hold: the new data of a parameter, and numbers of which a tensor was made."""
        args, result = operation.args, operation.result
        if operation.name == "data.__set__":
            if args[0] in self._origins and isinstance(args[1], torch.Tensor):
                self._begins(args[0], self._origin(self._tape.value(args[1])))
        elif args and isinstance(args[0], int | float | list | tuple) and isinstance(result, torch.Tensor):
            self._made[self._tape.value(result)] = _Origin.SET
            self._lies(result, _Origin.SET)

    def _label(self, op: Op) -> _Origin:
        values = op.values[1:] if op.in_place and op.name == "copy" else op.values
        if op.called in DRAWS:
            return _Origin.DRAWN
        if op.called in _FILLS or not values:
            return _Origin.ELSEWHERE if op.called in _SOURCES else _Origin.SET
        return _united({self._origin(value) for value in values})

    def _origin(self, value: Value) -> _Origin:
        tensor = tensor_of(value)
        if tensor is not None and tensor in self._origins:
            return self._behind.get(self._number(tensor)) or self._origins.get(tensor) or _Origin.DRAWN
        return self._made.get(value) or (_Origin.DRAWN if value.is_parameter else _Origin.ELSEWHERE)

    def _number(self, parameter: torch.Tensor) -> int:
        number = self._parameters.get(parameter)
        return -1 if number is None else number

    # ------------------------------------------------------------------------------------------------------ telling

    def _tell(self, course: Course) -> None:
        for parameter, origin in self._origins.items():
            if self._behind.get(self._number(parameter), origin) is _Origin.ELSEWHERE:
                self._loaded.put(parameter, 0)
        by_step: dict[int, list[int]] = {}
        for parameter, step in self._loaded.items():
            number = self._parameters.get(parameter)
            if number is not None:
                by_step.setdefault(step, []).append(number)
        for step, numbers in by_step.items():
            self.emit(WeightsLoaded(step=step, parameters=sorted(numbers)))
        self._loaded = IdentityTable()
        self.unlisten(course.step_taken, self._tell)
        self._begin_no_more()

    def _begin_no_more(self) -> None:
        self._origins, self._behind = IdentityTable(), {}
        self._made.clear()
        self._newest.clear()
        self.unlisten(self._tape.recorded, self._recorded)
        self.unlisten(self._lineage.operated, self._operated)
        self.unlisten(self._site.signals.registration.parameter, self._registered)


def _united(origins: Collection[_Origin]) -> _Origin:
    """What is made of several: with anything drawn in it, it is a beginning."""
    return next((each for each in (_Origin.DRAWN, _Origin.ELSEWHERE) if each in origins), _Origin.SET)
