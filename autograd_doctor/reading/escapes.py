"""Values that leave torch as Python numbers or NumPy arrays, recognised when they come back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from autograd_doctor.reading.made import CutPoint, Made
from autograd_doctor.reading.operation_kinds import FROM_DATA
from autograd_doctor.reading.places import locate

_MOST_REMEMBERED = 256


class Escapes:
    """Remembers the lineage of a few hundred numbers by their value, and of arrays by their address."""

    def __init__(self) -> None:
        self._numbers: dict[float, Made] = {}
        self._arrays: dict[int, Made] = {}
        self.last: Made | None = None

    def left(self, made: Made, result: Any) -> None:
        """`result` was taken out of a tensor; `made` says what had flowed into it, and is cut from here on."""
        if not made.values:
            return
        if made.live:
            made.add_cut(CutPoint(made.operation, made.place, "operation", None), made.live)
            made.live = 0
        self.last = made
        if len(self._numbers) > _MOST_REMEMBERED or len(self._arrays) > _MOST_REMEMBERED:
            self._numbers.clear()
            self._arrays.clear()
        if hasattr(result, "__array_interface__"):
            self._arrays[result.__array_interface__["data"][0]] = made
        else:
            self._numbers.update(dict.fromkeys(_floats(result), made))

    def returned(self, made: Made, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        """Let what is known of numbers and arrays among the arguments of an operation flow into its output."""
        data = [*args, *kwargs.values()]
        imports = made.operation in FROM_DATA
        if imports:
            array = next((value for value in data if hasattr(value, "__array_interface__")), None)
            source = None if array is None else self._arrays.get(array.__array_interface__["data"][0])
            if source is not None:
                made.absorb(source, connected=False)
        elif not any(type(value) is float for value in data):
            return
        for number in _floats(data):
            source = self._numbers.get(number)
            if source is not None:
                made.absorb(source, connected=False)
        if imports and made.values == 0 and self.last is not None and _follows(made, self.last):
            made.absorb(self.last, connected=False)


def _follows(back: Made, out: Made) -> bool:
    """Whether values came back to torch further down in the code that took them out: then they are taken for the same.

    Batches that are turned into tensors at the top of a loop, above the metrics of the last turn, are not.
    """
    again, gone = locate(back.place), locate(out.place)
    if again is None or gone is None or back.step != out.step:
        return False
    return again.path == gone.path and gone.function.startswith(again.function) and again.line >= gone.line


def _floats(value: Any) -> list[float]:
    """Floats worth recognising again, in a number or (nested) lists; round ones would be recognised by accident."""
    found: list[float] = []
    pending = [value]
    while pending and len(found) < _MOST_REMEMBERED:
        item = pending.pop()
        if type(item) is float:
            if math.isfinite(item) and item * 1024 != int(item * 1024):
                found.append(item)
        elif isinstance(item, list | tuple):
            pending.extend(item[:_MOST_REMEMBERED])
    return found
