"""Values that leave torch as Python numbers or NumPy arrays, recognised when they come back.

An array is recognised by its address, a number by its value, to all its digits or rounded to float32 on the way. What
Python or NumPy computed of them is a new value: that it stems from them is a guess, and is marked so.
"""

from __future__ import annotations

import math
import struct
import sys
from collections.abc import Sequence
from typing import Any

from autograd_doctor.reading.operation_kinds import FROM_DATA
from autograd_doctor.reading.places import locate
from autograd_doctor.reading.provenance import Provenance, cut_here
from autograd_doctor.reading.without_running import is_a

_MOST_REMEMBERED = 256
"""Numbers and arrays: the metrics of a step or two. What was forgotten can only be guessed."""
_ROUND = 1024
"""A multiple of 1/1024 may be anybody's: rates, counts, targets. Few results of arithmetic are."""


class PythonValues:
    """Remembers the lineage of a few hundred numbers by their value, and of arrays by their address."""

    def __init__(self) -> None:
        self._numbers: dict[float, Provenance] = {}
        self._arrays: dict[int, Provenance] = {}
        self.last: Provenance | None = None

    def left(self, made: Provenance, result: Any) -> None:
        """`result` was taken out of a tensor; `made` says what had flowed into it, and is cut from here on."""
        if not made.values:
            return
        if made.connected:
            made.add_cut(cut_here(made.operation, made.place), made.connected)
            made.connected = 0
        self.last = made
        if len(self._numbers) > _MOST_REMEMBERED or len(self._arrays) > _MOST_REMEMBERED:
            self._numbers.clear()
            self._arrays.clear()
        address = _address(result)
        if address is not None:
            self._arrays[address] = made
        else:
            self._numbers.update(dict.fromkeys(_floats(result), made))

    def returned(self, made: Provenance, data: Sequence[Any]) -> None:
        """Let what is known of numbers and arrays among the arguments of an operation flow into its output."""
        imports = made.operation in FROM_DATA
        if imports:
            addresses = [_address(value) for value in data]
            source = next((self._arrays[each] for each in addresses if each in self._arrays), None)
            if source is not None:
                made.absorb(source, connected=False)
        else:
            for value in data:
                if type(value) is float:
                    break
            else:
                return
        for number in _floats(data):
            source = self._numbers.get(number)
            if source is not None:
                made.absorb(source, connected=False)
        if imports and made.values == 0 and self.last is not None and _may_follow(made, self.last):
            made.absorb(self.last, connected=False, guessed=True)


def _may_follow(back: Provenance, out: Provenance) -> bool:
    """Whether values that came back to torch may be computed from those taken out: in the same step, and further on.

    Batches that are turned into tensors at the top of a loop, above the metrics of the last turn, are not.
    """
    again, gone = locate(back.place), locate(out.place)
    if again is None or gone is None or back.step != out.step:
        return False
    return again.path == gone.path and gone.function.startswith(again.function) and again.line >= gone.line


def _address(value: Any) -> int | None:
    """Where the values of a NumPy array lie."""
    numpy = sys.modules.get("numpy")
    if numpy is None or not is_a(value, numpy.ndarray):
        return None
    return int(numpy.ndarray.__array_interface__.__get__(value)["data"][0])


def _floats(value: Any) -> list[float]:
    """Floats worth recognising again, in a number or (nested) lists; round ones would be recognised by accident."""
    found: list[float] = []
    pending = [value]
    while pending and len(found) < _MOST_REMEMBERED:
        item = pending.pop()
        if type(item) is float:
            if math.isfinite(item) and item * _ROUND != int(item * _ROUND):
                found.append(_single(item))
        elif type(item) in (list, tuple):
            pending.extend(item[:_MOST_REMEMBERED])
    return found


def _single(number: float) -> float:
    """As float32 has it: what `item()` gives and what comes back through a float32 array are then the same.

    Numbers beyond its range have no fraction, and are not worth recognising.
    """
    return float(struct.unpack("f", struct.pack("f", number))[0])
