"""Inputs and targets that the training loop turns, shifts or warps by random numbers of their own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import torch

from autograd_doctor.events.data import PairsMisaligned
from autograd_doctor.events.event import Event
from autograd_doctor.findings import Location
from autograd_doctor.instruments.instrument import Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.loss_query import LossQuery
from autograd_doctor.instruments.spine.tape import Tape
from autograd_doctor.operations import DRAWS, JOINS, LOSSES, MOVES, TOTALS
from autograd_doctor.reading.live_values import tensor_of
from autograd_doctor.reading.operation_kinds import SHAPE_ONLY
from autograd_doctor.reading.pairs import ELEMENTWISE
from autograd_doctor.reading.places import Place, locate, stack
from autograd_doctor.reading.spelling import spelt
from autograd_doctor.reading.tensor_facts import near, readable
from autograd_doctor.reading.variable_names import variable_name
from autograd_doctor.signals import Signals
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.tape import Op, Value, behind, source_of

_DRAWS = frozenset(spelt(name).name for name in DRAWS)
_COMPARING = LOSSES | {"kl_div", "mul", "sub"}
_IN_PLACE = frozenset(spelt(name).name for name in ELEMENTWISE | MOVES | JOINS)
"""What leaves each value where it is among the others, or moves all rows alike."""
_TURNS = frozenset({
    "T", "adjoint", "flip", "fliplr", "flipud", "mT", "movedim", "permute", "roll", "rot90", "transpose",
})  # fmt: skip
_LOOK_UPS = frozenset({"gather", "index_select", "take_along_dim"})
_PRODUCTS = frozenset({"bmm", "matmul"})
_FROM_OUTSIDE = frozenset({"as_tensor", "from_numpy", "tensor"})
_NUMBERS = 64
"""Of a draw, to know it again: of two generators with one seed, too, and in another shape."""


class _Turn(NamedTuple):
    """An operation that moves what is within the rows of values, by others that say where to."""

    moved: tuple[Value, ...]
    by: tuple[Value, ...]


@dataclass(slots=True)
class _Draw:
    """The first numbers of what was drawn, and the calls in which it was."""

    first: torch.Tensor
    places: tuple[Place, ...]
    number: int | None = None


@dataclass(slots=True)
class _Way:
    """How something came about: the draws that turned it, all that went in, and what it was before."""

    turned_by: set[int] = field(default_factory=set)
    sources: set[Value] = field(default_factory=set)


@dataclass(slots=True)
class _Line:
    """A comparison of what was turned on both sides. steps: with draws of their own, of `of`."""

    target: str
    rows: int
    input_at: Location | None = None
    target_at: Location | None = None
    steps: set[int] = field(default_factory=set)
    of: set[int] = field(default_factory=set)


class DrawnTurns(LossQuery):
    """Asks in steps that are looked at closely. Draws are told apart by their numbers: a generator that is given the
    same seed twice, or its state back, draws once."""

    emits: ClassVar[tuple[type[Event], ...]] = (PairsMisaligned,)

    def __init__(self, site: Site, course: Course, tape: Tape) -> None:
        super().__init__(site, course, tape)
        self._drawn: dict[Op, _Draw] = {}
        self._called: dict[int, tuple[Place, ...]] = {}
        """By the numbers that were drawn."""
        self._drawn_in = -1
        self._lines: dict[Location | None, _Line] = {}

    def connect(self, signals: Signals) -> None:
        super().connect(signals)
        self.listen(self._tape.recorded, self._was_drawn, names=_DRAWS)

    def _was_drawn(self, op: Op) -> None:
        if self._drawn_in != self._course.steps:
            self._drawn_in = self._course.steps
            self._drawn.clear()
            self._called.clear()
        tensor = tensor_of(op.output)
        if tensor is not None and readable(tensor) and tensor.numel() > 0:
            self._drawn[op] = _Draw(tensor.detach().flatten()[:_NUMBERS].clone(), stack())

    def _number(self, op: Op) -> int:
        """What a draw is known by: it is read where something was turned by it."""
        draw = self._drawn[op]
        if draw.number is None:
            draw.number = hash(tuple(near(draw.first).tolist()))
            self._called.setdefault(draw.number, draw.places)
        return draw.number

    def _ask(self, roots: Sequence[Value], call: BackwardCall) -> None:
        for op in behind(roots) if self._drawn_in == self._course.steps else ():
            if op.name in _COMPARING and len(op.live) == 1 and (op.name != "mul" or _is_summed(op)):
                for target in op.plain:
                    if target.count > 1 and not target.values:
                        self._compared(op, op.live[0], target)

    def _compared(self, op: Op, prediction: Value, target: Value) -> None:
        theirs = self._way([target])
        if not theirs.turned_by:
            return
        made_of = _made_of([prediction])
        turned = [each.output for each in made_of if not each.output.values and _turn(each)]
        ours = self._way(turned)
        if not ours.turned_by or not ours.sources.isdisjoint(theirs.sources):
            return
        line = self._lines.get(op.location)
        if line is None:
            line = self._lines[op.location] = _Line(_name_of(target), target.shape[0])
        line.of.add(self._course.steps)
        inputs = ours.turned_by - self._draws([target])
        targets = theirs.turned_by - {self._number(each) for each in made_of if each in self._drawn}
        if inputs and targets:
            line.steps.add(self._course.steps)
            line.input_at, line.target_at = self._places(inputs, targets)

    def _way(self, values: Iterable[Value]) -> _Way:
        """From values back: to what turned them as long as each stays where it is, and to the data that they are of."""
        way, waiting, met = _Way(), [(value, True) for value in values], set[Value]()
        while waiting:
            value, in_place = waiting.pop()
            op = value.by
            if value in met:
                continue
            met.add(value)
            turn = _turn(op) if op is not None else None
            draws = self._draws(turn.by) if turn is not None else set()
            if turn is not None:
                in_place &= bool(draws) or not _are_told(turn.by)
                way.turned_by |= draws if in_place else set()
                waiting += [(each, in_place) for each in turn.moved]
            elif op is None or op.name in _DRAWS:
                way.sources.add(value)
            else:
                flow = op.values[:1] if op.name in MOVES else _flow_in(op)
                waiting += [(each, in_place and op.name in _IN_PLACE) for each in flow if each.count > 1]
        return way

    def _draws(self, values: Sequence[Value]) -> set[int]:
        return {self._number(op) for op in _made_of(values) if op in self._drawn}

    def _places(self, inputs: set[int], targets: set[int]) -> tuple[Location | None, Location | None]:
        """Where both are drawn: the calls in which these part, where one function draws for both."""
        ours, theirs = (self._called[next(iter(draws))] for draws in (inputs, targets))
        for one, other in zip(ours, theirs, strict=False):
            if one != other:
                return locate(one), locate(other)
        return locate(ours[-1] if ours else None), locate(theirs[-1] if theirs else None)

    def finish(self) -> None:
        for location, line in self._lines.items():
            if line.steps:
                self.emit(
                    PairsMisaligned(
                        step=self._course.steps,
                        location=location,
                        input_at=line.input_at,
                        target_at=line.target_at,
                        target=line.target,
                        rows=line.rows,
                        steps=len(line.steps),
                        of=len(line.of),
                        turned=True,
                    )
                )


def _name_of(value: Value) -> str:
    tensor = tensor_of(value)
    return variable_name(tensor) if tensor is not None else ""


def _is_summed(op: Op) -> bool:
    return any(use.name in TOTALS for use in op.output.uses)


# ------------------------------------------------------------------------------------------------------------- turns


def _turn(op: Op) -> _Turn | None:
    """What an operation moves, and what says where to. What chooses rows, or one of several, moves nothing."""
    given = op.values
    if op.name == "where" and len(given) == 3:
        return _choice(*sorted(given, key=lambda value: value.kind != "bool"))
    if op.name == "add" and len(given) == 2:
        return _blend(*given)
    if op.name == "__setitem__" and len(given) > 2:
        return _written_back(given)
    if op.name == "grid_sample" and len(given) == 2:
        return _Turn((given[0],), (given[1],))
    if op.name in _LOOK_UPS and len(given) == 2:
        is_within = op.dim is not None and op.dim not in (0, -len(given[0].shape)) and op.output.shape[op.dim] > 1
        return _Turn((given[0],), (given[1],)) if is_within else None
    if op.name == "__getitem__" and len(given) > 1:
        return _Turn((given[0],), tuple(given[1:])) if _is_within(op.output, *given) else None
    if op.name in _PRODUCTS and len(given) == 2 and _is_square(given[1]) and op.output.shape == given[0].shape:
        return _Turn((given[0],), (given[1],))
    return None


def _made_of(values: Iterable[Value]) -> set[Op]:
    """The operations whose values flow in: nothing does of what only lends its shape."""
    found, waiting = set[Op](), [value.by for value in values]
    while waiting:
        op = waiting.pop()
        if op is not None and op not in found:
            found.add(op)
            waiting += [value.by for value in _flow_in(op) if not value.is_parameter]
    return found


def _flow_in(op: Op) -> list[Value]:
    if op.name in _DRAWS or op.name in SHAPE_ONLY:
        return []
    return op.values[:1] if op.name.endswith("_as") else op.values


def _are_told(indices: Sequence[Value]) -> bool:
    """Whether what chooses comes from elsewhere, as the matches of two sets do, in whatever order these are."""
    made = _made_of(indices)
    given = (*indices, *(value for op in made for value in op.values))
    is_given = any(each.by is None and each.kind == "int" and each.count > 1 for each in given)
    return is_given or any(op.name in _FROM_OUTSIDE and not op.values for op in made)


def _before_turns(value: Value) -> Value:
    return source_of(value, _TURNS)


def _choice(chosen_by: Value, one: Value, other: Value) -> _Turn | None:
    """Of what was turned, and of what was not."""
    is_turn = one is not other and _before_turns(one) is _before_turns(other)
    return _Turn((_before_turns(one),), (chosen_by,)) if is_turn else None


def _blend(one: Value, other: Value) -> _Turn | None:
    """`turned * x.flip(-1) + (1 - turned) * x`."""
    products = [value.by for value in (one, other) if value.by is not None and value.by.name == "mul"]
    parts = [sorted(op.values, key=lambda value: -value.count) for op in products]
    if len(parts) != 2 or any(len(part) != 2 for part in parts):
        return None
    (picture, chosen_by), (twin, chosen_too) = parts
    turn = _choice(chosen_by, picture, twin)
    return _Turn(turn.moved, (chosen_by, chosen_too)) if turn is not None else None


def _written_back(given: Sequence[Value]) -> _Turn | None:
    """`x[chosen] = x[chosen].flip(-1)`."""
    whole, *chosen_by, written = given
    before = _before_turns(written)
    is_own = before.by is not None and before.by.name == "__getitem__" and before.by.values[0] is whole
    return _Turn((whole,), tuple(chosen_by)) if is_own and before is not written else None


def _is_within(output: Value, whole: Value, *by: Value) -> bool:
    """Whether indices choose places within each row, and of each several: not rows, and not one of several."""
    if any(index.kind == "bool" for index in by) or len(output.shape) < len(whole.shape):
        return False
    return len(by) > 1 or (output.shape[:1] == whole.shape[:1] and output.shape != (*by[0].shape, *whole.shape[1:]))


def _is_square(value: Value) -> bool:
    return len(value.shape) > 1 and value.shape[-1] == value.shape[-2]
