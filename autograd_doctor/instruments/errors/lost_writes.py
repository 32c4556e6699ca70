"""Operations in place on a copy that the statement which has made it does not keep, or gives a name that nobody reads.

Indexing by a mask, a list or a tensor copies; so does a conversion that has something to do, and an attribute that is
computed whenever it is read, as a parametrized weight is. That nothing reads the copy is told by the instructions.
"""

from __future__ import annotations

from collections import Counter, deque
from typing import ClassVar, NamedTuple

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from autograd_doctor.events.errors import WriteLost
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.instruments.spine.lineage import Lineage
from autograd_doctor.instruments.spine.module_calls import ModuleCalls
from autograd_doctor.instruments.spine.tensors import Tensors
from autograd_doctor.reading.asked_for import is_call_of_library
from autograd_doctor.reading.call_site import attribute_read, is_never_read, keeps_nothing
from autograd_doctor.reading.operation_kinds import traits, writes
from autograd_doctor.reading.places import Place, locate, stack
from autograd_doctor.reading.regions import indexed
from autograd_doctor.reading.subclasses import dispatches, storage_address
from autograd_doctor.signals import Signals
from autograd_doctor.signals.operations import Operation
from autograd_doctor.tape import numbers_in

_COPIES = frozenset({
    "__getitem__", "bfloat16", "clone", "contiguous", "cpu", "cuda", "double", "flatten", "float", "gather", "half",
    "index_select", "int", "long", "masked_select", "reshape", "take", "to", "type", "type_as",
})  # fmt: skip
"""What returns the values of a tensor, at times in memory of its own."""
_NEWEST = 8
"""Copies to remember: what else a statement makes comes between the copy and the write."""
_TOLD = 2
"""Of a line."""


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


class _Write(NamedTuple):
    """An operation in place, where it stands, and the memory that it wrote to.

    lost_at: the statement that leaves nothing of it, which may call a function that writes. is_named: the copy has a
    name, which nothing else reads.
    """

    copy: _Copy
    operation: str
    place: Place
    lost_at: Place
    is_named: bool
    elements: int
    memory: StorageWeakRef


class LostWrites(Instrument):
    """Remembers the newest copies, and looks at each write to one of them when the next operation comes: the memory of
    the copy must be gone, unless it has a name, and that of which it was one still be there."""

    emits: ClassVar[tuple[type[Event], ...]] = (WriteLost,)

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
        self._written: _Write | None = None
        self._told: Counter[Place] = Counter()

    def connect(self, signals: Signals) -> None:
        self.listen(self._lineage.operated, self._operated)
        self.listen(self._detail.focused, self._settle)

    def finish(self) -> None:
        self._settle()

    def _operated(self, operation: Operation) -> None:
        if self._written is not None:
            self._settle()
        if operation.place is None:
            return
        if writes(operation.name):
            self._wrote(operation, operation.place)
        elif isinstance(operation.result, torch.Tensor) and operation.inputs:
            self._made(operation, operation.place, operation.result)

    def _made(self, operation: Operation, place: Place, result: torch.Tensor) -> None:
        copies = operation.name in _COPIES
        attribute = attribute_read(*place)
        if not (copies or attribute) or traits(operation.name).shape_only or not _has_memory(result):
            return
        source, address = operation.inputs[0], storage_address(result)
        if _has_memory(source) and storage_address(source) != address:
            made = self._tensors.get(result)
            parameters = made.values if made is not None else 0
            memory = StorageWeakRef(source.untyped_storage())
            self._copies.append(_Copy(address, operation.name, place, attribute, parameters, memory))

    def _wrote(self, operation: Operation, place: Place) -> None:
        target = operation.args[0] if operation.args else None
        if not isinstance(target, torch.Tensor) or not _has_memory(target):
            return
        address = storage_address(target)
        copy = next((each for each in reversed(self._copies) if each.address == address), None)
        if copy is None or self._module_calls.is_inside or is_call_of_library():
            return
        lost_at, is_named = _lost_at(copy, place)
        written = indexed(target, operation.args[1]) if operation.name == "__setitem__" else target
        if lost_at is not None and self._told[lost_at] < _TOLD and written.numel():
            memory = StorageWeakRef(target.untyped_storage())
            self._written = _Write(copy, operation.name, place, lost_at, is_named, written.numel(), memory)

    def _settle(self, _: object = None) -> None:
        """Tell of a write that nobody can have seen anything of."""
        written, self._written = self._written, None
        if written is None or not _is_there(written.copy) or not (written.is_named or written.memory.expired()):
            return
        self._told[written.lost_at] += 1
        self.emit(
            WriteLost(
                step=self._course.steps,
                location=locate(written.lost_at),
                written_at=locate(written.place) if written.place != written.lost_at else None,
                operation=written.operation,
                copied_by=written.copy.operation,
                attribute=written.copy.attribute,
                parameters=numbers_in(written.copy.parameters),
                elements=written.elements,
            )
        )


def _has_memory(tensor: torch.Tensor) -> bool:
    return not dispatches(tensor) and storage_address(tensor) != 0


def _lost_at(copy: _Copy, place: Place) -> tuple[Place | None, bool]:
    """The statement under way that leaves nothing of a copy, where there is one; and whether the copy has a name."""
    code, made = copy.place
    offset = next((offset for running, offset in stack() if running is code), None)
    if offset is not None and keeps_nothing(code, made, offset):
        return (code, offset), False
    is_named = code is place[0] and is_never_read(code, made, place[1])
    return (place if is_named else None), is_named


def _is_there(copy: _Copy) -> bool:
    """Whether what was copied can still be used; what an attribute is computed from can be computed from again."""
    return bool(copy.attribute) or not copy.source.expired()
