"""Operations in place whose target was copied in the same statement, and is gone when that has ended.

Indexing by a mask, a list or a tensor copies; so does a conversion that has something to do, and an attribute that is
computed whenever it is read, as a parametrized weight is. That nothing keeps the copy is told by the instructions.
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
from autograd_doctor.reading.call_site import attribute_read, keeps_nothing
from autograd_doctor.reading.operation_kinds import traits, writes
from autograd_doctor.reading.places import Place, locate
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
_NEWEST = 4
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
    """An operation in place at a place, and the memory that it wrote to."""

    copy: _Copy
    operation: str
    place: Place
    elements: int
    storage: StorageWeakRef


class LostWrites(Instrument):
    """Remembers the newest copies, and looks at each write to one of them when the next operation comes: the memory of
    the copy must be gone, and that of which it was one still be there."""

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
        if copy is None or copy.place[0] is not place[0] or not keeps_nothing(place[0], copy.place[1], place[1]):
            return
        if self._told[place] >= _TOLD or self._module_calls.is_inside or is_call_of_library():
            return
        written = indexed(target, operation.args[1]) if operation.name == "__setitem__" else target
        if written.numel():
            storage = StorageWeakRef(target.untyped_storage())
            self._written = _Write(copy, operation.name, place, written.numel(), storage)

    def _settle(self, _: object = None) -> None:
        """Tell of a write that nobody can have seen anything of."""
        written, self._written = self._written, None
        if written is None or not written.storage.expired() or not _is_there(written.copy):
            return
        self._told[written.place] += 1
        self.emit(
            WriteLost(
                step=self._course.steps,
                location=locate(written.place),
                operation=written.operation,
                copied_by=written.copy.operation,
                attribute=written.copy.attribute,
                parameters=numbers_in(written.copy.parameters),
                elements=written.elements,
            )
        )


def _has_memory(tensor: torch.Tensor) -> bool:
    return not dispatches(tensor) and storage_address(tensor) != 0


def _is_there(copy: _Copy) -> bool:
    """Whether what was copied can still be used; what an attribute is computed from can be computed from again."""
    return bool(copy.attribute) or not copy.source.expired()
