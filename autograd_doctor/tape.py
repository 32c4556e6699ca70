"""What a step computed, operation by operation, over values that are told apart by identity and version.

A change in place makes another value. What was written through an alias, what lies before the first operation, and what
nobody recorded is opaque: it has no `by`, and a query takes it for not known, never for "no". The same queries serve
instruments, whose values are those of living tensors (`reading/live_values.py`), and rules, whose tapes come from a
trace (`Trace.tapes`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any, Literal, TypeVar

from autograd_doctor.findings import Location
from autograd_doctor.operations import ADDING, JOINS, LOOK_UPS, MOVES, NORMS, SCALING, reduction

L = TypeVar("L")
Labels = dict["Value", L]
Kind = Literal["float", "int", "bool", "complex"]
GRAD = "grad"
"""The name of what `torch.autograd.grad` computes."""
FUNCTION = "autograd.Function"
"""That of a custom function."""
_LONGEST_WAY = 32
_LEADS_TO_TERMS = ADDING | JOINS | SCALING | MOVES | {"mean", "neg", "pow", "square", "sum"}
_ZERO_STAYS = _LEADS_TO_TERMS | NORMS | {"abs", "clamp", "sqrt"}
_NUMBERS = frozenset({int, float, bool})
"""What else an operand may be: asking whether something is of an abstract class takes much longer."""


@dataclass(eq=False, slots=True)
class Value(ABC):
    """What a tensor held until it was changed. learns: it has a backward node."""

    shape: tuple[int, ...]
    kind: Kind
    learns: bool
    by: Op | None = None
    uses: list[Op] = field(default_factory=list)

    @property
    @abstractmethod
    def is_parameter(self) -> bool:
        """Whether it is one itself."""

    @property
    @abstractmethod
    def values(self) -> int:
        """The parameters, as bits, whose values flow into it."""

    @property
    @abstractmethod
    def connected(self) -> int:
        """Those that its gradient reaches."""

    @property
    @abstractmethod
    def span(self) -> tuple[float, float] | None:
        """The smallest and the largest of its numbers, None where nobody has looked."""

    @property
    def is_floating(self) -> bool:
        return self.kind == "float"

    @property
    def sign(self) -> int:
        """1 or -1 where all of its numbers have that sign, 0 where they have not, or nobody has looked."""
        low, high = self.span or (-1.0, 1.0)
        return int(low >= 0) - int(high <= 0)

    @property
    def count(self) -> int:
        return prod(self.shape)


@dataclass(eq=False, slots=True)
class Op(ABC):
    """An operation under its canonical name (`reading.spelling`), and as the program called it.

    operands: values and plain numbers in mathematical order, those of sequences one by one. options: keywords that are
    no tensors. number: its place on the tape. module: the name of the innermost module that was running, "" in none.
    """

    name: str
    called: str
    operands: tuple[Any, ...]
    options: Mapping[str, Any]
    number: int
    in_place: bool = False
    module: str = ""
    outputs: tuple[Value, ...] = ()

    @property
    @abstractmethod
    def location(self) -> Location | None:
        """The line of the user's program."""

    def made(self, *outputs: Value) -> None:
        """Let operands and outputs know of it; what it gives back as it was given, it has not made."""
        self.outputs = outputs
        given = self.values
        for value in given:
            value.uses.append(self)
        for output in outputs:
            if output.by is None and output not in given:
                output.by = self

    def forget(self) -> None:
        """Let go of the values, which know it as well."""
        for value in (*self.values, *self.outputs):
            value.by = None
            value.uses.clear()
        self.operands = self.outputs = ()

    @property
    def output(self) -> Value:
        return self.outputs[0]

    @property
    def dim(self) -> int | None:
        """The dimension that it was told, None where it was told none, or several."""
        given = self.options.get("dim", next((each for each in self.numbers if type(each) is int), None))
        return given if type(given) is int else None

    @property
    def reduction(self) -> str:
        """How a loss reduces its elements."""
        return reduction(self.options)

    @property
    def values(self) -> list[Value]:
        return [each for each in self.operands if type(each) not in _NUMBERS]

    @property
    def numbers(self) -> list[float]:
        return [each for each in self.operands if type(each) is int or type(each) is float]

    @property
    def is_square(self) -> bool:
        """Whether it squares its first operand: by name, as a power of two, or times itself."""
        if self.name == "square":
            return True
        second = self.operands[1] if len(self.operands) > 1 else None
        return (self.name == "pow" and second == 2) or (self.name == "mul" and second is self.operands[0])

    @property
    def live(self) -> list[Value]:
        """The operands that have a backward node."""
        return [each for each in self.values if each.learns]

    @property
    def plain(self) -> list[Value]:
        """Those that have none."""
        return [each for each in self.values if not each.learns]


@dataclass(frozen=True, slots=True)
class Tape:
    """What lies behind the losses of a backward, of each structure once. steps: those looked at that had it.

    step: the first of them.
    """

    number: int
    step: int
    steps: frozenset[int]
    ops: tuple[Op, ...]
    roots: tuple[Value, ...]

    def named(self, *names: str) -> Iterator[Op]:
        """The operations of these names, in their order."""
        return (op for op in self.ops if op.name in names)


def still_behind(ops: Iterable[Op], lives: Callable[[Value], bool]) -> list[Op]:
    """The operations that living values came of. The others are forgotten, and no value knows them any more."""
    ops = list(ops)
    kept: set[Op] = set()
    waiting = [op for op in ops if any(map(lives, op.outputs))]
    while waiting:
        op = waiting.pop()
        if op not in kept:
            kept.add(op)
            waiting += [value.by for value in op.values if value.by is not None]
    drop(op for op in ops if op not in kept)
    return [op for op in ops if op in kept]


def drop(ops: Iterable[Op]) -> None:
    """Forget operations: what they have made is opaque from now on."""
    gone = set(ops)
    for value in {value for op in gone for value in op.values}:
        value.uses = [use for use in value.uses if use not in gone]
    for op in gone:
        for output in op.outputs:
            output.by = None if output.by is op else output.by
        op.operands = op.outputs = ()


def numbers_in(bits: int) -> list[int]:
    """The members of a bit set, ascending."""
    found = []
    while bits:
        lowest = bits & -bits
        found.append(lowest.bit_length() - 1)
        bits ^= lowest
    return found


def behind(roots: Iterable[Value], *, live: bool = True) -> list[Op]:
    """The operations that computed these values, in their order; live: only those that a gradient goes through.

    What was written to a parameter did not make it.
    """
    met: dict[int, Op] = {}
    pending = [root.by for root in roots]
    while pending:
        op = pending.pop()
        if op is not None and op.number not in met:
            met[op.number] = op
            pending += [each.by for each in (op.live if live else op.values) if not each.is_parameter]
    return [met[number] for number in sorted(met)]


def nearest_behind(roots: Iterable[Value], most: int) -> list[Op]:
    """The operations that computed these values, in their order: all that a gradient goes through, and of the others
    the nearest, so many that there are at most `most` in all."""
    found = {op.number: op for op in behind(roots)}
    pending = deque(value for op in reversed(found.values()) for value in op.plain)
    while pending and len(found) < most:
        value = pending.popleft()
        op = None if value.is_parameter else value.by
        if op is not None and op.number not in found:
            found[op.number] = op
            pending += op.values
    return [found[number] for number in sorted(found)]


def terms_behind(roots: Iterable[Value]) -> Iterator[Op]:
    """The operations that make the terms of a loss, and those that add and weigh them; where a term has no gradient,
    also what it is zero with, where that is zero."""
    pending, met = [root.by for root in roots], set[Op]()
    while pending:
        op = pending.pop()
        if op is None or op in met:
            continue
        met.add(op)
        yield op
        if op.output.learns and op.name in _LEADS_TO_TERMS:
            pending += [value.by for value in (op.live if op.name in SCALING else op.values)]
        elif not op.output.learns and op.name in _ZERO_STAYS:
            pending += [value.by for value in op.values]


def is_made_of_parameters(value: Value) -> bool:
    """Whether it is a parameter, or was made of parameters and numbers alone: no data came in, or chose values."""
    made = behind([value], live=False)
    begins = [each for op in made for each in op.values if each.by is None] if made else [value]
    is_data = any(each.count > 1 and not each.is_parameter for each in begins)
    is_chosen = any(op.name in LOOK_UPS or (not op.values and op.output.count > 1) for op in made)
    return any(each.is_parameter for each in begins) and not (is_data or is_chosen)


def labels_behind(root: Value, label: Callable[[Op, Labels[L]], L | None], *, live: bool = True) -> Labels[L]:
    """What a rule says of each value behind a root, in the order of the forward: from what it has said of the operands.

    A value of which it says None has no label.
    """
    found: Labels[L] = {}
    for op in behind([root], live=live):
        said = label(op, found)
        if said is not None:
            for output in op.outputs:
                found[output] = said
    return found


def way_from(value: Value, name: str) -> list[Op] | None:
    """The operations from the newest of this name to a value, each on what the one before gave as its first operand."""
    way: list[Op] = []
    while value.by is not None and len(way) < _LONGEST_WAY:
        way.append(value.by)
        if value.by.name == name:
            return way[::-1]
        if not value.by.values:
            return None
        value = value.by.values[0]
    return None


def source_of(value: Value, names: Iterable[str]) -> Value:
    """What a value was before operations of these names, which change none of it, as views and casts do."""
    wanted = frozenset(names)
    while value.by is not None and value.by.name in wanted and value.by.values:
        value = value.by.values[0]
    return value
