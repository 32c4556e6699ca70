"""Data that the training loop writes to, although they are kept, and given to a model again as they were left."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import torch

from autograd_doctor.events.data import GivenRowsChanged
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.lineage import Lineage
from autograd_doctor.instruments.spine.module_calls import ModuleCalls, RootBegan
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.instruments.spine.tape import Tape
from autograd_doctor.instruments.spine.tensors import Tensors
from autograd_doctor.instruments.spine.uploads import Uploads
from autograd_doctor.operations import BY_DIFFERENCE, COMPARING, MOVES
from autograd_doctor.reading.live_values import tensor_of
from autograd_doctor.reading.module_tree import has_parameters
from autograd_doctor.reading.numbers import IdentityTable, Numbers
from autograd_doctor.reading.operation_kinds import OVERWRITES, writes
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.provenance import has_graph
from autograd_doctor.reading.regions import Region, indexed, region_of
from autograd_doctor.reading.spelling import spelt
from autograd_doctor.reading.tensor_facts import is_remote, readable
from autograd_doctor.reading.variable_names import variable_name
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.operations import Operation
from autograd_doctor.tape import Op, Value, behind

_MOST_FIELDS = 4
"""Of a call: the tensors that are looked at."""
_MOST_PARTS = 500
"""That a line is given, to compare: enough for an epoch of most programs that a check sees two epochs of."""
_MOST_VALUES = 256
"""Of a part, spread over it evenly."""
_MATERIAL = 1e-3
"""Of the mean of the absolute values, by which a writing must change them: far beyond rounding, by which what is
scaled a second time still moves a little."""
_TARGETS = COMPARING | BY_DIFFERENCE
_Line = tuple[int, Place | None, int]
"""A module, the line that calls it, and which of the tensors that it is given there."""


class _Part(NamedTuple):
    """A part of a tensor: the number of the whole, and which of its elements."""

    whole: int
    offset: int
    shape: tuple[int, ...]


@dataclass
class _Visit:
    """A part as a module was given it. turn: how many parts had been given before. kept: it was found so in `kept`."""

    step: int
    turn: int
    region: Region
    values: torch.Tensor
    before: float
    kept: int = -1


@dataclass
class _Given:
    """What a line gives to a module: data that the line at `writes` has written to."""

    writes: Place | None
    operation: str
    name: str
    visits: dict[_Part, _Visit] = field(default_factory=dict)
    targets: set[tuple[int, int]] = field(default_factory=set)
    is_own_target: bool = False
    turns: int = 0
    again: int = 0
    size_before: float = 0.0
    size: float = 0.0

    @property
    def has_targets(self) -> bool:
        """Whether each part has an answer of its own, which is kept as well, or is compared with itself."""
        return self.is_own_target or len(self.targets) > 1


class GivenRows(Instrument):
    """Follows, from call to call, parts of kept tensors that were written to before a model was given them.

    Written to means: changed in part, or by arithmetic, with numbers that neither a model nor other data of as many
    rows had a hand in. What is filled anew, brought back, or moved by a model is none of that.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (GivenRowsChanged,)

    def __init__(
        self,
        site: Site,
        course: Course,
        tensors: Tensors,
        parameters: Parameters,
        lineage: Lineage,
        module_calls: ModuleCalls,
        tape: Tape,
        uploads: Uploads,
    ) -> None:
        super().__init__(site)
        self._operations = site.signals.operations
        self._course = course
        self._tensors = tensors
        self._parameters = parameters
        self._lineage = lineage
        self._module_calls = module_calls
        self._tape = tape
        self._uploads = uploads
        self._wholes = Numbers()
        self._written: dict[int, tuple[Place | None, str]] = {}
        self._written_in = -1
        self._filled: IdentityTable[None] = IdentityTable()
        self._lines: dict[_Line, _Given] = {}

    def connect(self, signals: Signals) -> None:
        self.listen(self._lineage.operated, self._operated)
        self.listen(self._module_calls.root_began, self._root_began)

    def finish(self) -> None:
        for given in self._lines.values():
            self._tell(given)

    # ------------------------------------------------------------------------------------------ steps looked at closely

    def _operated(self, operation: Operation) -> None:
        out = operation.kwargs.get("out")
        if isinstance(out, torch.Tensor):
            self._filled.put(_whole(out), None)
        elif writes(operation.name):
            self._wrote(operation)
        elif self._lines and spelt(operation.name).name in _TARGETS:
            self._compared(operation)

    def _wrote(self, operation: Operation) -> None:
        target = operation.args[0] if operation.args else None
        if not isinstance(target, torch.Tensor) or not self._is_data(target):
            return
        whole, op = _whole(target), self._tape.value(target).by
        if self._written_in != self._course.steps:
            self._written_in = self._course.steps
            self._written.clear()
        if op is not None and _changes(operation) and self._is_by_itself(target, op):
            self._written.setdefault(self._wholes.number(whole), (operation.place, operation.name))
        elif self._lines:
            self._filled.put(whole, None)

    def _is_data(self, tensor: torch.Tensor) -> bool:
        is_plain = type(tensor) is torch.Tensor and not tensor.requires_grad and not has_graph(tensor)
        return is_plain and self._parameters.get(tensor) is None

    def _is_by_itself(self, target: torch.Tensor, op: Op) -> bool:
        """Whether nothing but chance, constants and the data themselves had a hand in what was written."""
        made = self._tensors.get(target)
        if made is not None and (made.values or made.of_gradient):
            return False
        whole = _whole(target)
        rows = {each.shape[0] for each in (target, whole) if each.dim()}
        return not any(self._is_other_data(value, whole, rows) for value in op.values[1:])

    def _is_other_data(self, value: Value, whole: torch.Tensor, rows: set[int]) -> bool:
        """Whether it has a row for each of those written to, and came of what was there before this step."""
        if value.count < 2 or not value.shape or value.shape[0] == 1:
            return False
        for opaque in _opaque(value):
            tensor = tensor_of(opaque)
            is_own = tensor is not None and _whole(tensor) is whole
            is_for_rows = (len(opaque.shape) > 1 and opaque.shape[0] > 1) or bool(rows & {*opaque.shape[:1]})
            if opaque.count > 1 and not is_own and is_for_rows:
                return True
        return False

    def _compared(self, operation: Operation) -> None:
        """A loss compares what a model made with data: the answers to the parts that were given in this step."""
        op = self._tape.value(operation.result).by if isinstance(operation.result, torch.Tensor) else None
        if op is None or not op.live:
            return
        targets = [target for value in op.plain if (target := _shown_by(value)) is not None]
        for given in self._lines.values():
            newest = next(reversed(given.visits), None)
            if newest is None or given.visits[newest].step != self._course.steps:
                continue
            for target in targets:
                number = self._wholes.number(_whole(target))
                if number == newest.whole:
                    given.is_own_target = True
                elif not self._is_new(_whole(target)):
                    given.targets.add((number, int(target.storage_offset())))

    def _is_new(self, tensor: torch.Tensor) -> bool:
        """Whether an operation of this step has made it."""
        made = self._tensors.get(tensor)
        return made is not None and made.step == self._course.steps

    # ------------------------------------------------------------------------------------------------------- all steps

    def _root_began(self, began: RootBegan) -> None:
        if not began.call.grad_enabled or not (self._lines or self._written):
            return
        for position, tensor in enumerate(map(self._uploads.at_home, began.given[:_MOST_FIELDS])):
            line = began.module, began.where, position
            given = self._lines.get(line) or self._first(line, began, tensor)
            if given is not None and self._is_data(tensor) and readable(tensor) and tensor.numel():
                began.again = True
                self._visit(given, tensor)

    def _first(self, line: _Line, began: RootBegan, tensor: torch.Tensor) -> _Given | None:
        """A line that gives a model what was written to in this step."""
        number = self._wholes.get(_whole(tensor))
        written = self._written.get(number) if number is not None else None
        is_now = self._written_in == self._course.steps
        if written is None or not is_now or not has_parameters(began.call.module):
            return None
        if is_remote(tensor):
            self.limited("data that lie on an accelerator are not compared with what the loop left of them")
            return None
        if not self._lines:
            self.listen(self._operations.began, self._operation_began, attention=Attention.FULL)
        name = variable_name(_whole(tensor)) or variable_name(tensor)
        given = self._lines[line] = _Given(*written, name)
        return given

    def _visit(self, given: _Given, tensor: torch.Tensor) -> None:
        region = region_of(tensor)
        if region is None or is_remote(tensor):
            return
        part = _Part(self._wholes.number(_whole(tensor)), region.offset, region.shape)
        before, values = given.visits.pop(part, None), _values(tensor)
        given.turns += 1
        if before is None and len(given.visits) >= _MOST_PARTS:
            return
        now = given.visits[part] = _Visit(self._course.steps, given.turns, region, values, _size(values))
        if before is None:
            return
        now.before = before.before
        if before.kept == self._course.steps and _differ(before.values, values) and _whole(tensor) not in self._filled:
            given.again += 1
            given.size_before, given.size = now.before, _size(values)
            if given.again == 1:
                self._tell(given)

    def _operation_began(self, operation: Operation) -> None:
        """What a later step finds where it writes: what an earlier one has left there, or something new."""
        target = operation.args[0] if operation.args and writes(operation.name) else None
        if not isinstance(target, torch.Tensor):
            return
        whole = _whole(target)
        number, written = self._wholes.get(whole), region_of(target)
        if number is None or written is None or is_remote(target) or whole in self._filled:
            return
        reached = [
            (given, visit)
            for given in self._lines.values()
            for part, visit in given.visits.items()
            if part.whole == number and visit.kept < self._course.steps and visit.region.overlaps(written)
        ]
        if reached and not any(self._is_kept(given, visit, whole, operation) for given, visit in reached):
            self._filled.put(whole, None)

    def _is_kept(self, given: _Given, visit: _Visit, whole: torch.Tensor, operation: Operation) -> bool:
        """Whether this line goes on with what it left when the part was last given, others having been meanwhile."""
        if visit.step == self._course.steps:
            return True
        is_kept = operation.place == given.writes and torch.equal(_values(_part_of(whole, visit.region)), visit.values)
        if is_kept and given.turns > visit.turn:
            visit.kept = self._course.steps
        return is_kept

    def _tell(self, given: _Given) -> None:
        if given.again and given.has_targets:
            self.emit(
                GivenRowsChanged(
                    step=self._course.steps,
                    location=locate(given.writes),
                    operation=given.operation,
                    name=given.name,
                    parts=len(given.visits),
                    again=given.again,
                    size_before=given.size_before,
                    size=given.size,
                    is_target=given.is_own_target,
                )
            )


def _whole(tensor: torch.Tensor) -> torch.Tensor:
    base = tensor._base
    return tensor if base is None else base


def _changes(operation: Operation) -> bool:
    """Whether an operation in place goes by what was there, or leaves some of it as it was."""
    if operation.name != "__setitem__":
        return operation.name not in OVERWRITES
    target, index, value = operation.args
    parts = index if isinstance(index, tuple) else (index,)
    if any(isinstance(part, torch.Tensor) for part in parts):
        return not (isinstance(value, torch.Tensor) and value.dim() > 0 and value.shape == target.shape)
    return not isinstance(value, torch.Tensor) and indexed(target, index).numel() < target.numel()


def _opaque(value: Value) -> Iterator[Value]:
    """What a value came of that no operation of this step has made."""
    if value.by is None:
        yield value
    for op in behind([value], live=False):
        yield from (each for each in op.values if each.by is None)


def _shown_by(value: Value) -> torch.Tensor | None:
    """The living tensor that a target is, or of which it is a cast, if that is a view, or older than the step."""
    while value.by is not None:
        tensor = tensor_of(value)
        if tensor is not None and tensor._base is not None:
            return tensor
        if value.by.name not in MOVES or not value.by.values:
            return None
        value = value.by.values[0]
    return tensor_of(value)


def _part_of(whole: torch.Tensor, region: Region) -> torch.Tensor:
    return torch.as_strided(whole.detach(), region.shape, region.strides, region.offset)


def _values(tensor: torch.Tensor) -> torch.Tensor:
    """A copy of some, spread evenly."""
    flat = tensor.detach().flatten()
    return flat[:: -(-len(flat) // _MOST_VALUES)].clone()


def _size(values: torch.Tensor) -> float:
    return float(values.double().abs().mean())


def _differ(before: torch.Tensor, now: torch.Tensor) -> bool:
    return bool((now.double() - before.double()).abs().mean() > _MATERIAL * before.double().abs().mean())
