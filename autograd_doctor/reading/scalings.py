"""The arithmetic with constants that data have gone through, as that which standardises them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch

from autograd_doctor.operations import ARITHMETIC, JOINS, MOVES, TAKES
from autograd_doctor.reading.live_values import LiveOp, held_by
from autograd_doctor.reading.places import Place
from autograd_doctor.reading.tensor_facts import is_remote, readable
from autograd_doctor.tape import Op, Value

_MOST = 32
_MOST_NUMBERS = 64
"""Of a constant: one for each channel, or feature."""
_GOES_ON = MOVES | TAKES | JOINS

Key = tuple[object, ...]
"""The same for arithmetic of one kind with the same constants, or where these are gone, of the same line."""


class Scaling(NamedTuple):
    """before: what was scaled."""

    key: Key
    place: Place | None
    before: Value


def scalings_of(value: Value) -> Iterator[Scaling]:
    """What has scaled and shifted a value, the newest first; of one that was put together, what its first part went
    through."""
    for _ in range(_MOST):
        op = value.by
        if op is None or not op.values:
            return
        if op.name in ARITHMETIC:
            before, *constants = sorted(op.values, key=_how_constant)
            if before.count != value.count or any(_how_constant(each) == _how_constant(before) for each in constants):
                return
            place = op.place if isinstance(op, LiveOp) else None
            yield Scaling(_key(op, constants, place), place, before)
            value = before
        elif op.name in _GOES_ON:
            value = op.values[0]
        else:
            return


def _how_constant(value: Value) -> tuple[int, int]:
    """Of what meets in an operation, data have more numbers than constants, or as many, which are used more often."""
    return -value.count, len(value.uses)


def _key(op: Op, constants: list[Value], place: Place | None) -> Key:
    numbers = [_numbers_of(each) for each in constants]
    return (op.name, *op.numbers, *((place,) if None in numbers else numbers))


def _numbers_of(value: Value) -> tuple[float, ...] | None:
    tensor = held_or_copied(value)
    if tensor is None or is_remote(tensor) or not readable(tensor) or tensor.numel() > _MOST_NUMBERS:
        return None
    return tuple(map(float, tensor.detach().flatten().tolist()))


def held_or_copied(value: Value) -> torch.Tensor | None:
    """The tensor that still holds a value, or another that it was copied from."""
    tensor = held_by(value)
    is_copy = tensor is None and value.by is not None and value.by.name in MOVES and value.by.values
    return held_or_copied(value.by.values[0]) if is_copy and value.by is not None else tensor
