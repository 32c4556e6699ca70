"""Tapes that are written by hand: `made("mse_loss", given(6, 3), data(6, 3))` is a value that knows what made it."""

from __future__ import annotations

from itertools import count
from typing import Any

from autograd_doctor.events.tapes import TapeSeenAgain
from autograd_doctor.findings import Location
from autograd_doctor.tape import Kind, Value
from autograd_doctor.taping import RecordedOp, RecordedValue, seal
from autograd_doctor.trace import Trace

_NUMBERS = count()


def data(*shape: int, kind: Kind = "float", span: tuple[float, float] | None = None) -> Value:
    """What no parameter has flowed into."""
    return RecordedValue(shape, kind, False, span=span)


def given(*shape: int, values: int = 1) -> Value:
    """What was computed from parameters, nobody knows how."""
    return RecordedValue(shape, "float", True, values=values, connected=values)


def made(
    name: str,
    *operands: Any,
    shape: tuple[int, ...] = (),
    at: Location | None = None,
    kind: Kind = "float",
    **options: Any,
) -> Value:
    """What an operation made of these; it has a graph if one of them has."""
    op = RecordedOp(name, name, operands, options, next(_NUMBERS), location=at)
    output = RecordedValue(shape, kind, kind == "float" and bool(op.live))
    for value in op.values:
        output.values |= value.values
        output.connected |= value.connected if value.learns and output.learns else 0
    op.made(output)
    return output


def tape(*roots: Value, steps: int = 4) -> Trace:
    """A trace with one tape: what lies behind these losses, as so many steps had it."""
    return Trace.of_events(seal(0, roots), TapeSeenAgain(tape=0, steps=list(range(steps))))
