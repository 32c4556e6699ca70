"""Tapes that are written by hand: `made("mse_loss", given(6, 3), data(6, 3))` is a value that knows what made it."""

from __future__ import annotations

import weakref
from itertools import count
from typing import Any

import torch

from autograd_doctor.reading.provenance import Provenance
from autograd_doctor.reading.tape import Op, Value

_NUMBERS = count()
_NOWHERE: weakref.ref[torch.Tensor] = weakref.ref(torch.ones(1))


def data(*shape: int, span: tuple[float, float] | None = None) -> Value:
    """What no parameter has flowed into."""
    value = Value(torch.Size(shape), False, True, _NOWHERE, 0)
    value.extremes = torch.tensor(span) if span is not None else None
    return value


def given(*shape: int, values: int = 1) -> Value:
    """What was computed from parameters, nobody knows how."""
    lineage = Provenance("model", None, 0)
    lineage.values = lineage.connected = values
    return Value(torch.Size(shape), True, True, _NOWHERE, 0, lineage)


def made(name: str, *operands: Any, shape: tuple[int, ...] = (), place: Any = None, **options: Any) -> Value:
    """What an operation made of these; it has a graph if one of them has."""
    op = Op(name, name, place, operands, options, next(_NUMBERS))
    output = Value(torch.Size(shape), bool(op.live), True, _NOWHERE, 0, _lineage(op), op)
    op.outputs = (output,)
    for value in op.values:
        value.uses.append(op)
    return output


def _lineage(op: Op) -> Provenance:
    lineage = Provenance(op.name, None, 0)
    for value in op.values:
        lineage.values |= value.values
        lineage.connected |= value.connected if value.learns else 0
    return lineage
