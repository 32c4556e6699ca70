"""Losses that only bring outputs of modules together, and how far these lie apart from sample to sample.

The least that such a loss can be is reached where all outputs are the same. What keeps samples apart, as a distance
that grows, a margin, a variance or scores against other samples, and what data tell of a sample, is another loss.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from itertools import chain
from operator import or_
from typing import Any, ClassVar, NamedTuple

import torch
from torch.nn import functional

from autograd_doctor.events.event import Event
from autograd_doctor.events.losses import OutputsAligned
from autograd_doctor.findings import Location
from autograd_doctor.instruments.instrument import Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.late_values import LateValues
from autograd_doctor.instruments.spine.loss_query import LossQuery
from autograd_doctor.instruments.spine.tape import Tape
from autograd_doctor.operations import BY_DIFFERENCE, DROPOUTS, MOVES, NEGATIONS, NORMS, REARRANGEMENTS
from autograd_doctor.reading.live_values import LiveOp, tensor_of
from autograd_doctor.reading.tensor_facts import readable
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.summands import summands
from autograd_doctor.tape import GRAD, Op, Value, behind, source_of

_PRODUCTS = frozenset({"einsum", "linalg_vecdot", "mul"})
"""Cosines of vectors of length 1, once they are summed up."""
_ANGLES = _PRODUCTS | {"cosine_embedding_loss", "cosine_similarity"}
"""What grows as two vectors point the same way; the loss falls then."""
_DISTANCES = (BY_DIFFERENCE | {"dist", "pairwise_distance"}) - {"sub"}
_COMPARES = _ANGLES | BY_DIFFERENCE | _DISTANCES
_KEEPS = REARRANGEMENTS - NEGATIONS
_SIZES = NORMS | {"abs", "pow", "square"}
_UNSHIFTED = _KEEPS | {"div", "mul", "sqrt"}
"""What makes a size of a size alone; behind a margin, there may be a difference of sizes."""
_SCALES = frozenset({"add", "div", "mul", "pow"})
"""What grows with what it is given, by numbers above 0."""
_NORMALISE = frozenset({"batch_norm", "group_norm", "instance_norm", "layer_norm", "rms_norm"})
_MOST_OPS = 500
"""Of a loss, down to what it compares."""
_MOST_COMPARED = 16
_MOST_INPUTS = 4
_MOST_LINES = 8
_LEAST_ROWS = 8
_MOST_ROWS, _MOST_FEATURES, _MOST_VALUES = 256, 2048, 2**20
"""Of a batch, to tell how far its rows lie apart."""
_OF_NO_LENGTH = 1e-2
"""How far the lengths of vectors may be from 1 that differ by nothing but angles."""


class Compared(NamedTuple):
    """An operation that brings two outputs together. by_angle: whatever their lengths are."""

    op: Op
    sides: tuple[Value, Value]
    by_angle: bool


@dataclass
class _Line:
    """A loss that only brings outputs together. connected: what it teaches. alone: no other loss teaches the same."""

    connected: int
    alone: bool = True
    steps: set[int] = field(default_factory=set)


class Alignments(LossQuery):
    """Measures what they compare where it is compared, from the second step on that is looked at closely.

    The first one tells at which lines that is.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (OutputsAligned,)

    def __init__(self, site: Site, course: Course, tape: Tape, late_values: LateValues) -> None:
        super().__init__(site, course, tape)
        self._late_values = late_values
        self._lines: dict[Location | None, _Line] = {}
        self._at: set[object] = set()
        self._measured: dict[Op, tuple[torch.Tensor, list[torch.Tensor]]] = {}

    def connect(self, signals: Signals) -> None:
        super().connect(signals)
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.CLOSE)

    def _step_taken(self, course: Course) -> None:
        self._measured.clear()

    def _ask(self, roots: Sequence[Value], call: BackwardCall) -> None:
        found = comparisons(roots)
        connected = reduce(or_, (root.connected for root in roots), 0)
        if not found:
            for line in self._lines.values():
                line.alone &= not line.connected & connected
            return
        where = found[0].op.location
        if where not in self._lines and len(self._lines) == _MOST_LINES:
            return
        line = self._lines.setdefault(where, _Line(connected))
        line.connected |= connected
        self._tell(where, line, found)

    def _tell(self, where: Location | None, line: _Line, found: Sequence[Compared]) -> None:
        if not self._at:
            self.listen(self._tape.recorded, self._recorded, names=_COMPARES)
        places = {each.op.place for each in found if isinstance(each.op, LiveOp)}
        is_known = places <= self._at
        self._at |= places
        measured = [self._measured[each.op] for each in found if each.op in self._measured]
        if not is_known or len(measured) < len(found) or self._course.steps in line.steps:
            return
        line.steps.add(self._course.steps)
        inputs = list(chain.from_iterable(inputs for _, inputs in measured))
        sizes = [sizes for sizes, _ in measured]
        stopped = not all(side.learns for each in found for side in each.sides)
        told = partial(self._arrived, self._course.steps, where, found[0], line.alone, stopped, len(sizes))
        self._late_values.ask(self, [*sizes, *inputs], told)

    def _arrived(
        self,
        step: int,
        where: Location | None,
        first: Compared,
        alone: bool,
        stopped: bool,
        count: int,
        values: Sequence[Any],
    ) -> None:
        sizes = [each.tolist() for each in values[:count]]
        if not all(map(math.isfinite, chain(*sizes, values[count:]))):
            return
        is_by_angle = all(length < _OF_NO_LENGTH for *_, length in sizes)
        if first.by_angle and not is_by_angle:
            return
        self.emit(
            OutputsAligned(
                step=step,
                location=where,
                comparison=first.op.called,
                by_angle=is_by_angle,
                spreads=[spread for one, other, *_ in sizes for spread in (one, other)],
                apart=[apart for _, _, apart, _ in sizes],
                inputs=[float(each) for each in values[count:]],
                stopped=stopped,
                alone=alone,
            )
        )

    def _recorded(self, op: Op) -> None:
        """Measure what is compared at a line that is known: nobody may hold it when the backward begins."""
        if not isinstance(op, LiveOp) or op.place not in self._at or len(self._measured) == _MOST_COMPARED:
            return
        sides = _sides(op)
        tensors = [tensor for side in sides or () if (tensor := tensor_of(side)) is not None and readable(tensor)]
        if len(tensors) == 2 and tensors[0].device == tensors[1].device:
            found = _inputs(sides or ())
            self._measured[op] = _measure(op, *tensors), [_apart(tensor) for tensor in found]


# ------------------------------------------------------------------------------------------------------- the tape


def comparisons(roots: Iterable[Value]) -> list[Compared] | None:
    """What losses bring together, if they consist of that alone; None if there is anything else in them.

    What a loss asks of parameters alone, as weight decay does, tells samples apart as little as a number does.
    """
    found: dict[int, Compared] = {}
    pending = [(root, 1) for root in roots]
    for _ in range(_MOST_OPS):
        if not pending:
            return list(found.values()) if 0 < len(found) <= _MOST_COMPARED else None
        value, sign = pending.pop()
        if not value.learns and value.count == 1:
            continue
        compared = _compared(value, sign)
        if compared is not None:
            found[compared.op.number] = compared
        elif (parts := _parts(value, sign)) is not None:
            pending += parts
        elif not _is_of_parameters(value):
            return None
    return None


def _parts(value: Value, sign: int) -> list[tuple[Value, int]] | None:
    """What a value is a sum of, and which way each of it counts; None where it is no such sum, or that is not known.

    What is weighed with 0 throughout is no part of it.
    """
    parts = summands(value.by) if value.by is not None else None
    if parts is None or not all(part.sign for part in parts if part.factor != 0):
        return None
    return [(part.value, sign * part.sign) for part in parts if part.factor != 0]


def _compared(value: Value, sign: int) -> Compared | None:
    """What brings two outputs together as it falls or, of a cosine, grows."""
    op = value.by
    if op is None:
        return None
    if op.name == "cosine_embedding_loss":
        sign = -sign if op.values[-1].span == (1.0, 1.0) else 0
    if op.name in _ANGLES:
        sides = _sides(op) if sign < 0 and _is_row_by_row(op) else None
        return Compared(op, sides, by_angle=True) if sides is not None else None
    way, is_size = op, False
    while way.name not in _DISTANCES and (way.name in _KEEPS or _grows(way)) and way.values[0].by is not None:
        is_size = way.name in _SIZES or way.is_square or (is_size and way.name in _UNSHIFTED)
        way = way.values[0].by
    if sign < 0 or not (way.name in _DISTANCES or (is_size and way.name == "sub")):
        return None
    sides = _sides(way)
    return Compared(way, sides, by_angle=False) if sides is not None else None


def _is_row_by_row(op: Op) -> bool:
    """Whether each row of one meets the same row of the other alone, as in `einsum("nd,nd->n", …)`."""
    if op.name != "einsum":
        return True
    given, _, left = str(op.options.get("equation", "")).replace(" ", "").partition("->")
    one, _, other = given.partition(",")
    return one == other and one[:-1].startswith(left)


def _grows(op: Op) -> bool:
    """Whether what it makes grows with the size of what it is given."""
    if op.name in _SIZES - {"pow"} | {"sqrt"} or op.is_square:
        return True
    if op.name == "clamp":
        return "max" not in op.options
    return op.name in _SCALES and len(op.values) == 1 and all(number > 0 for number in op.numbers)


def _sides(op: Op) -> tuple[Value, Value] | None:
    """The two outputs of modules, with a vector for each sample, that an operation compares."""
    one, other = (*op.values[:2], *[None] * 2)[:2]
    if one is None or other is None or one is other or one.shape != other.shape or not (one.learns or other.learns):
        return None
    is_batch = 2 <= len(one.shape) <= 5 and one.shape[-1] > 1 and max(one.shape[:2]) >= _LEAST_ROWS
    if not (is_batch and one.values and other.values):
        return None
    ways = behind([one], live=False), behind([other], live=False)
    is_made_of_other = any(other in op.values for op in ways[0]) or any(one in op.values for op in ways[1])
    return (one, other) if not is_made_of_other and all(map(_are_of_modules, ways)) else None


def _are_of_modules(ops: Sequence[Op]) -> bool:
    """Whether modules made what these operations led to, and neither derivatives nor data were added to it."""
    return any(op.module for op in ops) and not any(op.name == GRAD or _adds_data(op) for op in ops)


def _adds_data(op: Op) -> bool:
    """Whether data meet an output of modules outside of these, as a reward does what is expected after it."""
    if op.module or op.name not in {"add", "sub"}:
        return False
    return any(each.values for each in op.values) and any(not each.values and each.count > 1 for each in op.values)


def _is_of_parameters(value: Value) -> bool:
    """Whether nothing but parameters and single numbers went into it."""
    ops = behind([value], live=False)
    given = [each for op in ops for each in (op.values or op.outputs) if each.by in (None, op) or each.is_parameter]
    return value.is_parameter or (bool(ops) and all(each.is_parameter or each.count == 1 for each in given))


def _inputs(sides: Iterable[Value]) -> list[torch.Tensor]:
    """What data go into modules that made these."""
    found: dict[int, torch.Tensor] = {}
    for side in sides:
        for op in behind([side], live=False):
            for value in op.values if any(output.values for output in op.outputs) else ():
                tensor = tensor_of(value)
                if tensor is not None and _is_data(value) and readable(tensor):
                    found[id(tensor)] = tensor
    return list(found.values())[:_MOST_INPUTS]


def _is_data(value: Value) -> bool:
    """Rows, or numbers to look up; not what a batch-norm keeps."""
    least = 1 if value.kind == "int" else 2 if value.kind == "float" else math.inf
    return not value.values and len(value.shape) >= least and value.shape[0] >= _LEAST_ROWS


# ------------------------------------------------------------------------------------------------------- numbers


def _measure(op: Op, *sides: torch.Tensor) -> torch.Tensor:
    """How far the samples of each side lie apart, how far the sides do, and how far their lengths are from 1."""
    rows = min(_MOST_ROWS, max(_MOST_VALUES // sides[0][0].numel(), _LEAST_ROWS))
    parts = [side.detach()[:rows].float() for side in sides]
    dim = _dim_of(op) if op.name == "cosine_similarity" else -1
    length = torch.stack([(part.norm(dim=dim) - 1).abs().max() for part in parts]).max()
    if op.name in _ANGLES:
        length = length if op.name in _PRODUCTS else torch.zeros_like(length)
        parts = [functional.normalize(part, dim=dim) for part in parts]
    elif any(map(_is_normalised, op.values[:2])):
        parts = [functional.normalize(part.flatten(), dim=0).view_as(part) * len(part) ** 0.5 for part in parts]
    between = (parts[0] - parts[1]).flatten(1).square().sum(1).mean().sqrt()
    return torch.stack([*map(_spread, parts), between, length])


def _is_normalised(side: Value) -> bool:
    """Whether a scale of its own, and nothing that tells samples apart, decides how large it is."""
    by = source_of(side, MOVES | DROPOUTS).by
    return by is not None and by.name in _NORMALISE


def _dim_of(op: Op) -> int:
    return 1 if op.dim is None else op.dim


def _spread(part: torch.Tensor) -> torch.Tensor:
    """Of three dimensions, either of the first two may be that of the samples."""
    spread = _apart(part)
    return torch.maximum(spread, _apart(part.transpose(0, 1))) if part.dim() == 3 else spread


def _apart(rows: torch.Tensor) -> torch.Tensor:
    """How far rows lie from their mean, by some of their values."""
    within = rows.dim() - 1
    step = math.ceil((rows[0].numel() / _MOST_FEATURES) ** (1 / within)) if within else 1
    some = rows.detach()[(slice(_MOST_ROWS), *[slice(None, None, step)] * within)]
    flat = some.reshape(len(some), -1).float()
    return (flat - flat.mean(0)).square().sum(1).mean().sqrt()
