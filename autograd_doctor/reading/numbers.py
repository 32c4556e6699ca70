"""What is known of objects of the program, kept beside them: numbers by which events refer to them, and anything else.

Objects are told apart by identity alone, and not kept alive; a `WeakKeyDictionary` would call their `__hash__`.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

import torch

from autograd_doctor.reading.subclasses import version_of

V = TypeVar("V")
identity: Callable[[object], int] = object.__hash__
"""As unique among living objects as `id`, of which every audit hook is told."""


class _Entry(weakref.ref[Any]):
    """An object that is not kept alive, its identity and its value, in one thing for a garbage collector to visit."""

    __slots__ = ("key", "value")
    key: int
    value: Any


class IdentityTable(Generic[V]):
    """Values for objects that are compared by identity; forgets an object when it dies.

    A table that is given up is gone at once. Left to the garbage collector, its entries might be collected while an
    object that they refer to dies, which Python 3.11 does not survive: it counts the references to the object, and then
    makes a tuple for them, which may run the collector.
    """

    def __init__(self) -> None:
        self._entries: dict[int, _Entry] = {}
        this = weakref.ref(self)

        def forget(dead: Any) -> None:  # also while the interpreter ends, when names of modules are gone
            table = this()
            entry = table._entries.get(dead.key) if table is not None else None
            if table is not None and entry is not None and entry is dead:
                del table._entries[entry.key]

        self._forget = forget

    def get(self, wanted: object) -> V | None:
        entry = self._entries.get(identity(wanted))
        return entry.value if entry is not None and entry() is wanted else None

    def __contains__(self, wanted: object) -> bool:
        entry = self._entries.get(identity(wanted))
        return entry is not None and entry() is wanted

    def __len__(self) -> int:
        return len(self._entries)

    def put(self, thing: object, value: V) -> None:
        key = identity(thing)
        entry = self._entries[key] = _Entry(thing, self._forget)
        entry.key, entry.value = key, value

    def discard(self, thing: object) -> None:
        if self._entries and thing in self:
            del self._entries[identity(thing)]

    def clear(self) -> None:
        """Forget all."""
        self._entries.clear()

    def items(self) -> Iterator[tuple[Any, V]]:
        """Objects that are still alive and their values, in the order in which they came into view."""
        for entry in list(self._entries.values()):
            thing = entry()
            if thing is not None:
                yield thing, entry.value


class ValueTable(Generic[V]):
    """What is known of the values of tensors: a change in place makes other values, of which nothing is known.

    version_of: that of a tensor; while an operation is looked at, the one that it found (`Operations.version_found`).
    """

    def __init__(self, version_of: Callable[[torch.Tensor], int]) -> None:
        self._found = version_of
        self._known: IdentityTable[tuple[int, V]] = IdentityTable()

    def get(self, wanted: object) -> V | None:
        known = self._known.get(wanted)
        return known[1] if known is not None and self._is_as_known(wanted, known[0]) else None

    def now(self, tensor: torch.Tensor) -> V | None:
        """What is known of the values that it has now, whatever an operation has found."""
        known = self._known.get(tensor)
        return known[1] if known is not None and known[0] == version_of(tensor) else None

    def __contains__(self, wanted: object) -> bool:
        known = self._known.get(wanted)
        return known is not None and self._is_as_known(wanted, known[0])

    def __len__(self) -> int:
        return len(self._known)

    def _is_as_known(self, tensor: Any, version: int) -> bool:
        return version == self._found(tensor) or version == version_of(tensor)

    def put(self, tensor: torch.Tensor, value: V, version: int | None = None) -> None:
        """version: that of the values which it is known of, if not the ones that the tensor has now."""
        self._known.put(tensor, (version_of(tensor) if version is None else version, value))

    def discard(self, tensor: object) -> None:
        self._known.discard(tensor)

    def clear(self) -> None:
        self._known.clear()


class Numbers(IdentityTable[int]):
    """Small numbers for objects."""

    def __init__(self) -> None:
        super().__init__()
        self._count = 0
        self._earlier: IdentityTable[int] | None = None

    @property
    def state(self) -> tuple[int, int]:
        """What is another one once an object has come or gone."""
        return self._count, len(self)

    def number(self, wanted: object) -> int:
        """The number of an object, a new one if it has none yet."""
        number = self.get(wanted)
        return self.add(wanted) if number is None else number

    def add(self, new: object) -> int:
        number = None if self._earlier is None else self._earlier.get(new)
        if number is None:
            number = self._count
            self._count += 1
        self.put(new, number)
        return number

    def follow(self, earlier: Numbers) -> None:
        """Give each object that others have numbered the number that it had there, once it comes into view here.

        Those of objects that are gone are free again, so that they stay small.
        """
        self._earlier = IdentityTable()
        for table in (earlier._earlier, earlier):
            for thing, number in table.items() if table is not None else ():
                self._earlier.put(thing, number)
        self._count = 1 + max((number for _, number in self._earlier.items()), default=-1)

    def in_use(self) -> set[int]:
        """The numbers of objects that are still alive, also of those that have not come into view here yet."""
        return {number for table in (self._earlier, self) if table is not None for _, number in table.items()}

    def carry_on(self, number: int, new: object) -> None:
        """Give the number of an object to another one that has taken its place."""
        for thing, known in self.items():
            if known == number:
                self.discard(thing)
        self.put(new, number)

    def living(self) -> Iterator[tuple[int, Any]]:
        """Numbers and objects that are still alive, in the order in which they came into view."""
        return ((number, thing) for thing, number in self.items())
