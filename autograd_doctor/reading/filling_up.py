"""Sequences that a program fills up itself, without `pad_sequence`: each at its end, to the length of the longest.

Each is given zeros at the end, by `pad` or by joining some to it, before they are stacked; or each is written to the
beginning of a row of zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import torch

from autograd_doctor.reading.numbers import ValueTable

_ZEROS = frozenset({"new_zeros", "zeros", "zeros_like"})
_LEAST = 2
"""Sequences."""


class Made(NamedTuple):
    """An operation: how it was called, and what it gave, or wrote to."""

    name: str
    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    output: torch.Tensor


class Stacked(NamedTuple):
    """How long the sequences of a batch were, and along which axes of the tensor they and their positions lie."""

    lengths: list[int]
    batch: int
    time: int


class _Single(NamedTuple):
    """One sequence that was filled up: along which axis, and how long it was."""

    time: int
    length: int


class FillingUp:
    """What operations have filled up, from one step to the next."""

    def __init__(self, version_of: Callable[[torch.Tensor], int]) -> None:
        self._singles: ValueTable[_Single] = ValueTable(version_of)
        self._zeros: ValueTable[dict[tuple[int, int], int]] = ValueTable(version_of)
        """What was written so far: by its place along the batch axis, and that axis, how long it was."""

    def clear(self) -> None:
        self._singles.clear()
        self._zeros.clear()

    def stacked(self, made: Made) -> Stacked | None:
        """Of a batch that an operation has completed, all of which was filled up to the longest."""
        name, output = made.name, made.output
        if name in _ZEROS:
            self._zeros.put(output, {})
        elif name in ("pad", "cat"):
            single = _padded(made) if name == "pad" else self._joined(made)
            if single is not None:
                self._singles.put(output, single)
        found = None
        if name == "stack" and len(self._singles):
            found = self._stacked(made)
        elif name == "__setitem__" and len(self._zeros):
            found = self._written(made)
        is_filled_up = found is not None and len(found.lengths) >= _LEAST and len(set(found.lengths)) > 1
        return found if found and is_filled_up and max(found.lengths) == output.shape[found.time] else None

    def _joined(self, made: Made) -> _Single | None:
        """A sequence with zeros behind it."""
        parts, axis = _sequence(made), _axis(made)
        if len(parts) != 2 or parts[1] not in self._zeros or not parts[0].dim():
            return None
        time = axis % parts[0].dim()
        return _Single(time, parts[0].shape[time])

    def _stacked(self, made: Made) -> Stacked | None:
        parts, batch = _sequence(made), _axis(made) % made.output.dim()
        known = [self._singles.get(part) for part in parts]
        times = {single.time for single in known if single is not None}
        if len(times) != 1:
            return None
        (time,) = times
        pairs = zip(parts, known, strict=True)
        lengths = [part.shape[time] if single is None else single.length for part, single in pairs]
        return Stacked(lengths, batch, time + (batch <= time))

    def _written(self, made: Made) -> Stacked | None:
        """`x[i, :n] = each`, or `x[:n, i]`, of all rows."""
        output, key = made.output, made.args[1]
        known = self._zeros.get(output)
        if known is None:
            return None
        at = list(key) if isinstance(key, tuple) else []
        ends = [each.stop for each in at[:2] if isinstance(each, slice) and _begins(each)]
        rows = [each for each in at[:2] if type(each) is int]
        if len(ends) != 1 or len(rows) != 1 or not all(map(_is_whole, at[2:])):
            self._zeros.discard(output)
            return None
        batch = 0 if type(at[0]) is int else 1
        total = output.shape[1 - batch]
        end = total if ends[0] is None else ends[0]
        if type(end) is not int or not 0 < end <= total:
            return None
        known[batch, rows[0] % output.shape[batch]] = end
        self._zeros.put(output, known)
        if len(known) != output.shape[batch]:
            return None
        lengths = [known.get((batch, row), 0) for row in range(output.shape[batch])]
        return Stacked(lengths, batch, 1 - batch) if all(lengths) else None


def _begins(part: slice) -> bool:
    """Whether it is the beginning of an axis."""
    return (part.start is None or (type(part.start) is int and part.start == 0)) and part.step is None


def _is_whole(part: Any) -> bool:
    return part is Ellipsis or (isinstance(part, slice) and _begins(part) and part.stop is None)


def _padded(made: Made) -> _Single | None:
    """Zeros at the end of one axis alone."""
    given = {**dict(zip(("input", "pad", "mode", "value"), made.args, strict=False)), **made.kwargs}
    sequence, pad = given["input"], list(given["pad"])
    added = [place for place, count in enumerate(pad) if count]
    is_zero = given.get("mode", "constant") == "constant" and not given.get("value")
    if not is_zero or len(added) != 1 or added[0] % 2 == 0 or pad[added[0]] < 0:
        return None
    time = sequence.dim() - 1 - added[0] // 2
    return _Single(time, sequence.shape[time])


def _sequence(made: Made) -> list[Any]:
    return list(made.args[0] if made.args else made.kwargs.get("tensors", ()))


def _axis(made: Made) -> int:
    axis = made.kwargs.get("dim", made.kwargs.get("axis", made.args[1] if len(made.args) > 1 else 0))
    return int(axis)
