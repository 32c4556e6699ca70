"""Tapes as events, and back: `seal` writes what lies behind losses down, `unsealed` makes values and operations of it.

What a tape of a trace tells of a value is what was known when it was sealed; of parameters, their numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from autograd_doctor.events.tapes import Constant, TapedOp, TapedValue, TapeSealed, TapeSeenAgain
from autograd_doctor.findings import Location
from autograd_doctor.tape import Kind, Op, Tape, Value, behind, numbers_in

Span = tuple[float, float]


@dataclass(eq=False, slots=True, kw_only=True)
class RecordedValue(Value):
    """Of a tape that a trace holds, or that was written by hand."""

    is_parameter: bool = False
    values: int = 0
    connected: int = 0
    span: Span | None = None


@dataclass(eq=False, slots=True, kw_only=True)
class RecordedOp(Op):
    """An operation on such values."""

    location: Location | None = None


def ordered(ops: Sequence[Op], roots: Sequence[Value]) -> list[Value]:
    """Every value of these operations and the losses, each once: its place is that on the tape."""
    met = [value for op in ops for value in (*op.values, *op.outputs)]
    return list(dict.fromkeys([*met, *roots]))


def seal(
    tape: int,
    roots: Sequence[Value],
    ops: Sequence[Op] | None = None,
    *,
    spans: Mapping[Value, Span] | None = None,
    step: int = 0,
) -> TapeSealed:
    """What lies behind these losses. ops: so much of it, in its order; the rest is opaque. spans: of values, where they
    are not to be asked for theirs."""
    ops = behind(roots, live=False) if ops is None else ops
    values = ordered(ops, roots)
    known = set(ops)
    places = {value: place for place, value in enumerate(values)}
    at: dict[Location, int] = {}
    sealed = [
        TapedOp(
            op.name,
            op.called,
            op.module,
            at.setdefault(op.location, len(at)) if op.location is not None else None,
            [places[each] if isinstance(each, Value) else Constant(each) for each in op.operands],
            dict(op.options),
            op.in_place,
            [places[output] for output in op.outputs],
        )
        for op in ops
    ]
    return TapeSealed(
        step=step,
        tape=tape,
        locations=list(at),
        values=[
            _taped(value, value.span if spans is None else spans.get(value), is_made=value.by in known)
            for value in values
        ],
        ops=sealed,
        roots=[places[root] for root in roots],
    )


def _taped(value: Value, span: Span | None, is_made: bool) -> TapedValue:
    values, connected = _flowing(value) if is_made else (0, 0)
    return TapedValue(
        value.kind,
        list(value.shape),
        value.learns,
        value.is_parameter,
        None if value.values == values else numbers_in(value.values),
        None if value.connected == connected else numbers_in(value.connected),
        span,
    )


def _flowing(value: Value) -> tuple[int, int]:
    """The parameters that flow in from all operands, and those that a gradient reaches by way of those that learn."""
    values = connected = 0
    for operand in value.by.values if value.by is not None else ():
        values |= operand.values
        connected |= operand.connected if operand.learns and value.learns else 0
    return values, connected


def unsealed(sealed: TapeSealed, again: TapeSeenAgain | None) -> Tape:
    """The tape of an event, with what was seen of it later."""
    spans = again.spans if again is not None else {}
    values = [_value(taped, spans.get(place, taped.span)) for place, taped in enumerate(sealed.values)]
    ops = tuple(_op(taped, number, sealed, values) for number, taped in enumerate(sealed.ops))
    roots = tuple(values[root] for root in sealed.roots)
    return Tape(sealed.tape, sealed.step, frozenset(again.steps if again is not None else [sealed.step]), ops, roots)


def _value(taped: TapedValue, span: Span | None) -> RecordedValue:
    value = RecordedValue(tuple(taped.shape), cast("Kind", taped.kind), taped.learns, is_parameter=taped.is_parameter)
    value.values, value.connected, value.span = _bits(taped.values or ()), _bits(taped.connected or ()), span
    return value


def _op(taped: TapedOp, number: int, sealed: TapeSealed, values: Sequence[RecordedValue]) -> RecordedOp:
    operands = tuple(each.number if isinstance(each, Constant) else values[each] for each in taped.operands)
    location = None if taped.at is None else sealed.locations[taped.at]
    op = RecordedOp(
        taped.name, taped.called, operands, taped.options, number, taped.in_place, taped.module, location=location
    )
    op.made(*(values[output] for output in taped.outputs))
    for place in taped.outputs:
        flowing = _flowing(values[place])
        if sealed.values[place].values is None:
            values[place].values = flowing[0]
        if sealed.values[place].connected is None:
            values[place].connected = flowing[1]
    return op


def _bits(numbers: Iterable[int]) -> int:
    return sum(1 << number for number in set(numbers))
