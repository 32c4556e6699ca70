"""Averages and copies of weights that were meant to be apart and share their storage: what is kept meets itself."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any, ClassVar, Literal

import torch
from torch import nn

from autograd_doctor.events.event import Event
from autograd_doctor.events.lifetime import WeightsMetThemselves
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.lineage import Lineage
from autograd_doctor.instruments.spine.optimizers import Optimizers
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.instruments.spine.registrations import Registrations
from autograd_doctor.instruments.spine.tape import Tape
from autograd_doctor.instruments.spine.tensors import Tensors
from autograd_doctor.operations import DISTANCES, FOLLOWS
from autograd_doctor.reading.live_values import LiveOp, LiveValue
from autograd_doctor.reading.module_tree import buffers_in, parameters_in
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.places import Place, locate, place
from autograd_doctor.reading.provenance import Provenance, next_order
from autograd_doctor.reading.regions import region_of
from autograd_doctor.reading.subclasses import gradient_of, version_of
from autograd_doctor.reading.tensors_in import tensors_in
from autograd_doctor.reading.weighted_sums import copied, value_before, weights_in
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.operations import Operation
from autograd_doctor.signals.states import StateCall, StateLoad
from autograd_doctor.tape import Op, Value

How = Literal["updated", "compared", "put back", "loaded", "reloaded"]
_COMPARISONS = DISTANCES | {"dist"}
_ROUNDING = 1e-6
"""Of two shares that are given as numbers."""


@dataclass(slots=True)
class _Return:
    """Parameters into which a line brought back what had been made of them in an earlier step, and last when."""

    kept_at: Place | None
    step: int = 0
    parameters: set[int] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class _Taken:
    """The state of a module. versions: of its tensors, when it was taken."""

    module: weakref.ref[nn.Module]
    versions: list[int]


class SelfAverages(Instrument):
    """An alias that is older than the last step was kept to be another tensor; one made just now is a way to write.

    The lineage knows of which parameter a tensor is an alias. An alias that is copied back into its parameter was kept
    for that if it is older than the last value that the parameter was given; where a line copies other values into
    other parameters as well, some of a model are shared, and all is well. One that was made of its parameter in an
    earlier step proves it at once, if by the end of the run its line has brought nothing else back: weights that are
    swapped by their storage keep their own, and may be told twice to take it back. Where the alias itself is what
    changes, as master weights of a model that has their precision already, nothing was to be undone.

    A module that was copied without its parameters holds those of the original: what is loaded from that, or averaged
    with it, is there already. One with buffers of its own may be loaded for their sake, and one whose parameters are
    others in the same storage, and get gradients, is a worker that shares the weights which it helps to train. The
    state of the module itself changes nothing, either, if it is loaded as it was taken; where a line loads others, too,
    some are shared.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (WeightsMetThemselves,)

    def __init__(
        self,
        site: Site,
        course: Course,
        parameters: Parameters,
        optimizers: Optimizers,
        tensors: Tensors,
        lineage: Lineage,
        registrations: Registrations,
        tape: Tape,
    ) -> None:
        super().__init__(site)
        self._registrations = registrations
        self._tape = tape
        self._shared: IdentityTable[Place | None] = IdentityTable()
        """Parameters that a module holds which was copied without them, and the line of the copy."""
        self._taken_from: IdentityTable[_Taken] = IdentityTable()
        self._loads_others: set[Place | None] = set()
        """Lines that give a module what is not its own."""
        self._course = course
        self._parameters = parameters
        self._optimizers = optimizers
        self._tensors = tensors
        self._since = next_order()
        self._met: dict[tuple[Place | None, How], tuple[list[int], Place | None]] = {}
        self._averaged_at: dict[Place | None, tuple[list[int], Place | None]] = {}
        self._apart: set[Place | None] = set()
        self._written: dict[int, int] = {}
        self._returned: dict[Place | None, _Return] = {}
        self._brought: set[Place | None] = set()
        """Lines that have brought back what is kept elsewhere, if only once."""
        self._given: dict[Place | None, set[int]] = {}

    def connect(self, signals: Signals) -> None:
        names = FOLLOWS | _COMPARISONS
        self.listen(signals.operations.ended, self._operation_ended, attention=Attention.FULL, names=names)
        replacing = frozenset({"data.__set__"})
        self.listen(signals.operations.began, self._replacing, attention=Attention.FULL, names=replacing)
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.FULL)
        self.listen(self._tape.recorded, self._averaged, names=frozenset({"add", "copy", "lerp"}))
        self.listen(signals.states.copied, self._copied)
        self.listen(signals.states.taken, self._taken)
        self.listen(signals.states.loading, self._loading)

    def _operation_ended(self, operation: Operation) -> None:
        if self._course.running is None and operation.args:
            (self._updated if operation.name in FOLLOWS else self._compared)(operation)

    def _copied(self, module: nn.Module) -> None:
        """Parameters of a deep copy, or of one that is read from a file, were given to no module before."""
        where = place()
        for _, parameter in parameters_in(module):
            if self._registrations.line_of(parameter) is not None:
                self._shared.put(parameter, where)

    def _taken(self, call: StateCall) -> None:
        if call.state is not None and not call.inner:
            self._taken_from.put(call.state, _Taken(weakref.ref(call.module), _versions(call.state)))

    def _loading(self, load: StateLoad) -> None:
        if not self._course.steps:
            return
        if not _is_its_own(load):
            self._loads_others.add(place())
            return
        taken = self._taken_from.get(load.state)
        source = taken.module() if taken is not None else None
        if taken is not None and source is load.module:
            if taken.versions == _versions(load.state):
                self._reloading(load.module)
            return
        theirs = dict(parameters_in(source)) if source is not None else {}
        for name, parameter in parameters_in(load.module):
            number = self._parameters.get(parameter)
            kept = self._tensors.get(load.state[name])
            if number is None or (theirs.get(name, parameter) is not parameter and gradient_of(parameter) is not None):
                continue
            if taken is not None:
                key: tuple[Place | None, How] = (place(), "loaded")
                self._met.setdefault(key, ([], self._shared.get(parameter)))[0].append(number)
            elif kept is not None and kept.born < self._since:
                self._return(place(), number, kept)

    def _reloading(self, module: nn.Module) -> None:
        numbers = (self._parameters.get(parameter) for _, parameter in parameters_in(module))
        known = [number for number in numbers if number is not None]
        if known:
            self._met.setdefault((place(), "reloaded"), ([], None))[0].extend(known)

    def _averaged(self, op: Op) -> None:
        """What is written to a parameter is an average of it with itself."""
        if not op.in_place or self._course.running is not None or len(op.values) < 2:
            return
        before, where = value_before(op), op.place if isinstance(op, LiveOp) else None
        tensor = before.tensor if isinstance(before, LiveValue) and before.is_parameter else None
        number = self._parameters.get(tensor) if tensor is not None else None
        if number is not None and _averages_itself(op, before):
            self._averaged_at.setdefault(where, ([], self._shared.get(tensor)))[0].append(number)
        else:
            self._apart.add(where)

    def _updated(self, operation: Operation) -> None:
        target = operation.args[0]
        made = self._tensors.get(target) if isinstance(target, torch.Tensor) else None
        self._put_back(operation, made)
        if made is None or made.alias_of is None or made.born > self._since or self._parameters.get(target) is not None:
            return
        region, others = region_of(target), tensors_in((*operation.args[1:], *operation.kwargs.values()))
        if region is not None and any(region_of(other) == region for other in others):
            self._meet(operation, "updated", made.alias_of, made.created_at)

    def _put_back(self, operation: Operation, made: Provenance | None) -> None:
        """Into a parameter, by itself or by an alias that was made for it."""
        target, source = operation.args[0], operation.args[1] if len(operation.args) > 1 else None
        number = self._parameters.get(target)
        if number is None and made is not None and made.born > self._since:
            number = made.alias_of
        if number is None or operation.name != "copy_" or not isinstance(source, torch.Tensor):
            return
        if not _is_in_place(target, source) or source is target:
            self._given.setdefault(operation.place, set()).add(number)
            self._brought.add(operation.place)
            self._written[number] = next_order()
        elif (kept := self._tensors.get(source)) is None or kept.born < self._written.get(number, self._since):
            if number in self._written or self._optimizers.holds(number):
                self._meet(operation, "put back", number, kept.created_at if kept is not None else None)
            self._return(operation.place, number, kept)

    def _replacing(self, operation: Operation) -> None:
        """A parameter is about to be given a tensor as its storage, which may be the one that it has."""
        target, source = operation.args[:2]
        number = self._parameters.get(target)
        if number is None or self._course.running is not None or not isinstance(source, torch.Tensor):
            return
        kept = self._tensors.get(source)
        if not _is_in_place(target, source):
            self._brought.add(operation.place)
        elif kept is not None and kept.born < self._since:
            self._return(operation.place, number, kept)

    def _return(self, where: Place | None, number: int, kept: Provenance | None) -> None:
        """Parameters that rest are what they were when they were kept."""
        if kept is not None and kept.alias_of == number and self._learns(number):
            returned = self._returned.setdefault(where, _Return(kept.created_at))
            returned.step = self._course.steps
            returned.parameters.add(number)

    def _learns(self, number: int) -> bool:
        parameter = dict(self._parameters.living()).get(number)
        return parameter is not None and parameter.requires_grad and self._optimizers.holds(number)

    def _compared(self, operation: Operation) -> None:
        """A parameter with what was kept of it, also when nobody saw that being made."""
        operands = tensors_in(operation.args[:2])
        for one, other in permutations(operands) if len(operands) == 2 else ():
            number, made = self._parameters.get(one), self._tensors.get(other)
            if number is None or other is one or (made is not None and made.born > self._since):
                continue
            region = region_of(one)
            if region is not None and region_of(other) == region:
                self._meet(operation, "compared", number, made.created_at if made is not None else None)

    def _meet(self, operation: Operation, how: How, parameter: int, made_at: Place | None) -> None:
        self._met.setdefault((operation.place, how), ([], made_at))[0].append(parameter)

    def _step_taken(self, course: Course) -> None:
        self._state()
        self._since = next_order()

    def finish(self) -> None:
        self._state()
        for where, returned in self._returned.items():
            if where not in self._brought:
                self._tell(returned.step, returned.parameters, returned.kept_at, where, "put back", for_good=True)

    def _state(self) -> None:
        """State what has met since the last step; where a line averages other weights as well, some are shared."""
        for where, met in self._averaged_at.items():
            if where not in self._apart:
                self._met.setdefault((where, "updated"), met)
        for (where, how), (parameters, made_at) in self._met.items():
            is_shared = how == "put back" and not self._given.get(where, set()) <= set(parameters)
            if is_shared or (how == "reloaded" and where in self._loads_others):
                continue
            self._tell(self._course.steps, set(parameters), made_at, where, how)
        self._met.clear()
        self._averaged_at.clear()
        self._apart.clear()
        self._given.clear()
        self._written.clear()

    def _tell(
        self,
        step: int,
        parameters: set[int],
        kept_at: Place | None,
        where: Place | None,
        how: How,
        *,
        for_good: bool = False,
    ) -> None:
        self.emit(
            WeightsMetThemselves(
                step=step,
                parameters=sorted(parameters),
                kept_at=locate(kept_at),
                location=locate(where),
                how=how,
                for_good=for_good,
            )
        )


def _is_in_place(target: torch.Tensor, source: torch.Tensor) -> bool:
    """Whether what is given to a tensor lies where the tensor does."""
    region = region_of(target)
    return region is not None and region_of(source) == region


def _versions(state: Mapping[str, Any]) -> list[int]:
    return [version_of(each) for each in state.values() if isinstance(each, torch.Tensor)]


def _is_its_own(load: StateLoad) -> bool:
    """Whether a state holds the parameters of the module themselves, and of its buffers no others."""
    held = {name: region_of(parameter) for name, parameter in parameters_in(load.module)}
    kept = {name: region_of(buffer) for name, buffer in buffers_in(load.module) if name in load.state}
    given = {name: region_of(load.state[name]) for name in (*held, *kept) if name in load.state}
    return bool(held) and held | kept == given and None not in given.values()


def _averages_itself(op: Op, before: Value) -> bool:
    """Whether both shares are of one value, as it was or scaled, and come to the whole of it.

    A share that is added to the whole, or taken off it, is no average: weights decay so. Nor is a value that is put
    back as it was kept, or rounded to fewer bits.
    """
    if op.name == "copy" and copied(op.values[-1]) is before:
        return False
    kept, taken = weights_in(op.values[0]), weights_in(op.values[-1])
    if not kept.keys() == taken.keys() == {before}:
        return False
    total = weights_in(op.output)[before]
    if op.name != "add":
        return abs(total - 1.0) < _ROUNDING
    share = (total - kept[before]) / taken[before] if taken[before] else 0.0
    return kept[before] != 1.0 and abs(kept[before] + share - 1.0) < _ROUNDING
