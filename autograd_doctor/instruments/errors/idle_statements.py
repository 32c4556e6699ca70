"""Statements that compute something, or change a copy, of which nothing is kept.

An operation whose result is thrown away changes nothing, unless it works in place. One in place is as idle where it
works on a copy that the statement has made, or that has a name which nobody reads: indexing by a mask, a list or a
tensor copies; so does a conversion that has something to do, and an attribute that is computed whenever it is read, as
a parametrized weight is. That nothing is kept is told by the instructions.
"""

from __future__ import annotations

from collections import defaultdict, deque
from typing import ClassVar, NamedTuple

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from autograd_doctor.events.errors import StatementIdle
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.instruments.spine.lineage import Lineage
from autograd_doctor.instruments.spine.module_calls import ModuleCalls
from autograd_doctor.instruments.spine.tensors import Tensors
from autograd_doctor.operations import ARITHMETIC, MOVES
from autograd_doctor.reading.asked_for import is_call_of_library, is_called_by_program
from autograd_doctor.reading.call_site import attribute_read, drops_result, is_never_read, keeps_nothing
from autograd_doctor.reading.operation_kinds import traits, writes
from autograd_doctor.reading.places import Place, locate, stack
from autograd_doctor.reading.regions import indexed
from autograd_doctor.reading.spelling import spelt
from autograd_doctor.reading.subclasses import dispatches, storage_address
from autograd_doctor.signals import Signals
from autograd_doctor.signals.operations import Operation
from autograd_doctor.tape import numbers_in

_CONVERSIONS = frozenset({"bfloat16", "cuda", "double", "float", "half", "int", "long", "to", "type", "type_as"})
_COPIES = _CONVERSIONS | {
    "__getitem__", "clone", "contiguous", "cpu", "flatten", "gather", "index_select", "masked_select", "reshape",
    "take",
}  # fmt: skip
"""What returns the values of a tensor, at times in memory of its own."""
_RESULTS = ARITHMETIC | _CONVERSIONS | (MOVES - {"__getitem__", "contiguous", "cpu"}) | {
    "abs", "clamp", "exp", "gelu", "index_fill", "layer_norm", "log", "log_softmax", "masked_fill", "normalize", "pow",
    "relu", "round", "scatter", "sigmoid", "softmax", "sqrt", "tanh", "tril", "triu",
}  # fmt: skip
"""What has no other use than its result: products of matrices and sums may be made to warm up, or to be timed, random
numbers to be counted off, and a number that is asked for waits for a device."""
_NEWEST = 8
"""Copies to remember: what else a statement makes comes between the copy and the write."""
_TOLD = 4
"""Steps, for each line."""


class _Copy(NamedTuple):
    """Where its values lie, what made it and where, of which parameters, and the memory that it was made from.

    attribute: the one that was read, if that has computed it.
    """

    address: int
    operation: str
    place: Place
    attribute: str
    parameters: int
    source: StorageWeakRef


class _Idle(NamedTuple):
    """A statement that kept nothing, with the operation that worked for it, and the memory that must be there still.

    written: the memory that must be gone, None where that does not matter.
    """

    event: StatementIdle
    statement: Place
    source: StorageWeakRef | None
    written: StorageWeakRef | None


class IdleStatements(Instrument):
    """Remembers the newest copies, and looks at each idle statement when the next operation comes: the memory of a copy
    without a name must be gone, and that of what it was made from still be there."""

    emits: ClassVar[tuple[type[Event], ...]] = (StatementIdle,)

    def __init__(
        self, site: Site, course: Course, detail: Detail, lineage: Lineage, tensors: Tensors, module_calls: ModuleCalls
    ) -> None:
        super().__init__(site)
        self._course = course
        self._detail = detail
        self._lineage = lineage
        self._tensors = tensors
        self._module_calls = module_calls
        self._copies: deque[_Copy] = deque(maxlen=_NEWEST)
        self._idle: _Idle | None = None
        self._told: defaultdict[Place, set[int]] = defaultdict(set)

    def connect(self, signals: Signals) -> None:
        self.listen(self._lineage.operated, self._operated)
        self.listen(self._detail.focused, self._settle)

    def finish(self) -> None:
        self._settle()

    def _operated(self, operation: Operation) -> None:
        if self._idle is not None:
            self._settle()
        if operation.place is None:
            return
        if writes(operation.name):
            self._wrote(operation, operation.place)
        elif isinstance(operation.result, torch.Tensor) and operation.inputs:
            self._made(operation, operation.place, operation.result)
            name, _, in_place = spelt(operation.name)
            if name in _RESULTS and not in_place and drops_result(*operation.place):
                self._dropped(operation, operation.place, operation.result)

    def _made(self, operation: Operation, place: Place, result: torch.Tensor) -> None:
        copies = operation.name in _COPIES
        attribute = attribute_read(*place)
        if not (copies or attribute) or traits(operation.name).shape_only or not _has_memory(result):
            return
        source, address = operation.inputs[0], storage_address(result)
        if _has_memory(source) and storage_address(source) != address:
            memory = StorageWeakRef(source.untyped_storage())
            self._copies.append(_Copy(address, operation.name, place, attribute, self._values(result), memory))

    def _dropped(self, operation: Operation, place: Place, result: torch.Tensor) -> None:
        """A result that the statement throws away; where nothing was to be done, there is none."""
        source = operation.inputs[0]
        if result is source or operation.kwargs.get("out") is not None or not _has_memory(source):
            return
        if is_called_by_program(operation.function) and result.numel():
            event = self._event(operation, place, self._values(source), result.numel())
            self._idle = _Idle(event, place, StorageWeakRef(source.untyped_storage()), None)

    def _wrote(self, operation: Operation, place: Place) -> None:
        target = operation.args[0] if operation.args else None
        if not isinstance(target, torch.Tensor) or not _has_memory(target):
            return
        address = storage_address(target)
        copy = next((each for each in reversed(self._copies) if each.address == address), None)
        if copy is None or self._module_calls.is_inside or is_call_of_library():
            return
        statement, is_named = _lost_at(copy, place)
        written = indexed(target, operation.args[1]) if operation.name == "__setitem__" else target
        if statement is not None and written.numel():
            event = self._event(operation, statement, copy.parameters, written.numel(), copy)
            source = None if copy.attribute else copy.source  # what it is computed from can be computed from again
            self._idle = _Idle(event, statement, source, None if is_named else StorageWeakRef(target.untyped_storage()))

    def _event(
        self, operation: Operation, statement: Place, parameters: int, elements: int, copy: _Copy | None = None
    ) -> StatementIdle:
        return StatementIdle(
            step=self._course.steps,
            location=locate(statement),
            written_at=locate(operation.place) if operation.place != statement else None,
            operation=operation.name,
            copied_by=copy.operation if copy is not None else "",
            attribute=copy.attribute if copy is not None else "",
            parameters=numbers_in(parameters),
            elements=elements,
        )

    def _values(self, tensor: torch.Tensor) -> int:
        """The parameters of whose values it was made."""
        source = self._tensors.source(tensor)
        return source if isinstance(source, int) else source.values if source is not None else 0

    def _settle(self, _: object = None) -> None:
        """Tell of a statement of which nobody can have seen anything."""
        idle, self._idle = self._idle, None
        if idle is None or idle.event.step in (told := self._told[idle.statement]) or len(told) >= _TOLD:
            return
        is_gone = idle.written is None or idle.written.expired()
        if is_gone and (idle.source is None or not idle.source.expired()):
            told.add(idle.event.step)
            self.emit(idle.event)


def _has_memory(tensor: torch.Tensor) -> bool:
    return not dispatches(tensor) and storage_address(tensor) != 0


def _lost_at(copy: _Copy, place: Place) -> tuple[Place | None, bool]:
    """The statement under way that leaves nothing of a copy, where there is one; and whether the copy has a name."""
    code, made = copy.place
    offset = next((offset for running, offset in reversed(stack()) if running is code), None)
    if offset is not None and keeps_nothing(code, made, offset):
        return (code, offset), False
    is_named = code is place[0] and is_never_read(code, made, place[1])
    return (place if is_named else None), is_named
