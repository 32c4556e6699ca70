"""Small numbers for objects of the program, by which events refer to them."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any


class Numbers:
    """Small numbers for objects that are compared by identity; forgets an object when it dies."""

    def __init__(self) -> None:
        self._by_id: dict[int, tuple[weakref.ref[Any], int]] = {}
        self._count = 0

    def get(self, wanted: object) -> int | None:
        entry = self._by_id.get(id(wanted))
        return entry[1] if entry is not None and entry[0]() is wanted else None

    def number(self, wanted: object) -> int:
        """The number of an object, a new one if it has none yet."""
        number = self.get(wanted)
        return self.add(wanted) if number is None else number

    def add(self, new: object) -> int:
        number = self._count
        self._count += 1
        self._by_id[id(new)] = (weakref.ref(new), number)
        return number

    def carry_on(self, number: int, new: object) -> None:
        """Give the number of an object to another one that has taken its place."""
        self._by_id = {key: entry for key, entry in self._by_id.items() if entry[1] != number}
        self._by_id[id(new)] = (weakref.ref(new), number)

    def living(self) -> Iterator[tuple[int, Any]]:
        """Numbers and objects that are still alive, in the order in which they came into view."""
        for reference, number in list(self._by_id.values()):
            value = reference()
            if value is not None:
                yield number, value
