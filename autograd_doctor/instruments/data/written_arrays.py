"""Tensors that share the memory of an array, and are used as if each still held what it held when it was made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple
from zlib import crc32

import torch

from autograd_doctor.events.data import ArrayWrittenOver
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.operation_kinds import writes
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.tensor_facts import is_remote, readable
from autograd_doctor.reading.transfers import bytes_of
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.operations import Operation

_SHARE = frozenset({"as_tensor", "asarray", "from_numpy", "frombuffer"})
_MOST_KEPT = 20_000
_MOST_VALUES = 256
"""Of a tensor, spread over it: two pictures that are not the same differ in one of so many."""
_FEWEST = 4
"""Contents that were lost: of two or three, the older ones may be left over, or looked at on purpose."""
_MOST_TOLD = 100


class _Made(NamedTuple):
    """A tensor of an array: where it was made and as which, and what it held then."""

    place: Place | None
    name: str
    number: int
    content: int


@dataclass
class _Used:
    """Tensors of one memory that a step has used while that held the same, by their numbers."""

    tensors: dict[int, _Made] = field(default_factory=dict)

    def contents(self) -> int:
        return len({made.content for made in self.tensors.values()})


@dataclass
class _Told:
    """A memory of which an event tells: how many tensors had been made, and what it held, when it was first told of.

    has_moved: it held something else when its tensors were used later; is_settled: that went for new ones.
    """

    number: int
    made: int
    content: int
    has_moved: bool = False
    is_settled: bool = False


class WrittenArrays(Instrument):
    """Remembers of tensors that share the memory of an array what they held when they were made. Where a step uses
    several of one memory at a time, and they were made of different contents, all but one have been written over."""

    emits: ClassVar[tuple[type[Event], ...]] = (ArrayWrittenOver,)

    def __init__(self, site: Site, course: Course) -> None:
        super().__init__(site)
        self._operations = site.signals.operations
        self._course = course
        self._made: IdentityTable[_Made] = IdentityTable()
        self._count = 0
        self._used: dict[Hashable, _Used] = {}
        self._step = -1
        self._told: dict[Hashable, _Told] = {}

    def connect(self, signals: Signals) -> None:
        self.listen(signals.operations.ended, self._shared, attention=Attention.FULL, names=_SHARE)

    def _shared(self, operation: Operation) -> None:
        made = operation.result
        if operation.inputs or type(made) is not torch.Tensor or is_remote(made) or not readable(made):
            return
        if not made.numel() or made in self._made:
            return
        if len(self._made) >= _MOST_KEPT:
            self.limited(f"of the tensors that share the memory of arrays, {_MOST_KEPT:,} are followed at a time")
            return
        self._count += 1
        self._made.put(made, _Made(operation.place, operation.name, self._count, _content(made)))
        if len(self._made) >= _FEWEST:
            self.listen(self._operations.ended, self._took, attention=Attention.FULL)

    def _took(self, operation: Operation) -> None:
        """In place, an operation writes to what it is given first, and may read nothing of it."""
        if operation.name in _SHARE or writes(operation.name):
            return
        now: dict[Hashable, int] = {}
        for given in operation.inputs:
            whole = given if given._base is None else given._base
            made = self._made.get(whole)
            if made is None:
                continue
            memory: Hashable = (whole.data_ptr(), whole.dtype, tuple(whole.shape), whole.stride())
            if memory not in now:
                now[memory] = _content(whole)
            self._use(memory, now[memory]).tensors[made.number] = made
        for memory, content in now.items():
            self._look(memory, content, operation)

    def _use(self, memory: Hashable, content: int) -> _Used:
        if self._step != self._course.steps:
            self._step = self._course.steps
            self._used.clear()
        return self._used.setdefault((memory, content), _Used())

    def _look(self, memory: Hashable, content: int, operation: Operation) -> None:
        used = self._use(memory, content)
        if len(used.tensors) < _FEWEST or used.contents() < _FEWEST or len(self._told) >= _MOST_TOLD:
            return
        first, newest = self._told.get(memory), max(used.tensors)
        if first is not None and (
            first.is_settled or not (newest > first.made or (content != first.content and not first.has_moved))
        ):
            return
        if first is None:
            self._told[memory] = _Told(len(self._told), self._count, content)
        else:
            first.has_moved, first.is_settled = True, newest > first.made
        self._tell(self._told[memory].number, used, content, operation)

    def _tell(self, memory: int, used: _Used, content: int, operation: Operation) -> None:
        (where, name), _ = Counter((made.place, made.name) for made in used.tensors.values()).most_common(1)[0]
        self.emit(
            ArrayWrittenOver(
                step=self._course.steps,
                location=locate(where),
                operation=name,
                used_at=locate(operation.place),
                used_by=operation.name,
                memory=memory,
                tensors=len(used.tensors),
                contents=used.contents(),
                newest=max(used.tensors),
                made=self._count,
                held=content,
            )
        )


def _content(tensor: torch.Tensor) -> int:
    """A number for what it holds, by some of its values, as many along each dimension."""
    each = max(1, int(_MOST_VALUES ** (1 / max(1, tensor.dim()))))
    some = tensor.detach()[tuple(slice(None, None, -(-size // each)) for size in tensor.shape)]
    return crc32(bytes(bytes_of(some).tolist()))
