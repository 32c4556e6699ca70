"""Events that hold tapes: what lies behind the losses of a backward, once for each structure."""

from __future__ import annotations

from msgspec import Struct

from autograd_doctor.events.event import Event
from autograd_doctor.findings import Location


class Constant(Struct, frozen=True, array_like=True):
    """A plain number among the operands."""

    number: bool | int | float


class TapedValue(Struct, frozen=True, array_like=True):
    """What a tensor held.

    kind: of its numbers. learns: it has a backward node. values, connected: the parameters whose values flow into it,
    and those that its gradient reaches; None where these are those of all operands, and of all that learn. span: the
    smallest and the largest of its numbers, where somebody has looked.
    """

    kind: str
    shape: list[int]
    learns: bool
    is_parameter: bool
    values: list[int] | None
    connected: list[int] | None
    span: tuple[float, float] | None


class TapedOp(Struct, frozen=True, array_like=True):
    """An operation: its canonical name, as the program called it, and the module within which that was.

    at: the place of its line among the locations, None where there is none. operands: values by their place on the
    tape, and numbers, in mathematical order. outputs: values by their place.
    """

    name: str
    called: str
    module: str
    at: int | None
    operands: list[int | Constant]
    options: dict[str, str | bool | int | float | None]
    in_place: bool
    outputs: list[int]


class TapeSealed(Event, frozen=True):
    """What lies behind the losses of a backward, as it was when this structure was first seen.

    ops: in the order in which they ran. roots: the losses, by their place among the values.
    """

    tape: int
    locations: list[Location]
    values: list[TapedValue]
    ops: list[TapedOp]
    roots: list[int]


class TapeSeenAgain(Event, frozen=True):
    """In which of the steps that were looked at closely a structure was there, the first among them.

    spans: of values whose numbers went further than at first, the smallest and the largest of all these steps.
    """

    tape: int
    steps: list[int]
    spans: dict[int, tuple[float, float]] = {}
