"""Losses that tell apart, for each row of a batch, its positive from all other rows: is that the row most like it?"""

from __future__ import annotations

from functools import partial
from typing import ClassVar, Literal, NamedTuple

import torch

from autograd_doctor.events.event import Event
from autograd_doctor.events.losses import PositivesCompared
from autograd_doctor.findings import Location
from autograd_doctor.instruments.instrument import Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.instruments.spine.late_values import LateValues
from autograd_doctor.instruments.spine.tape import Tape
from autograd_doctor.instruments.spine.within_step import WithinStep
from autograd_doctor.operations import CLASSES, MOVES, RESHAPES, SCALING, VIEWS
from autograd_doctor.reading.live_values import tensor_of
from autograd_doctor.reading.provenance import address, has_graph
from autograd_doctor.reading.tensor_facts import readable
from autograd_doctor.signals import Signals
from autograd_doctor.tape import Op, Value, source_of

Layout = Literal["halves", "turns"]
_TURNED = frozenset({"T", "mT", "t", "transpose"})
_EACH_WITH_EACH = frozenset({"einsum", "linear", "matmul", "mm"})
_BY_ROW = SCALING | MOVES - {"__getitem__", "chunk", "narrow", "select", "split", "unbind"} | {"normalize"}
"""They leave each row what it was, but for its length."""
_LEAST_ROWS, _MOST_ROWS = 8, 2048
_MOST_TOLD = 16
"""Of a line: what training does to the rows comes after its first steps."""


class _Part(NamedTuple):
    """One of two factors that are compared row by row."""

    value: Value
    tensor: torch.Tensor | None


class PositivePairs(WithinStep):
    """Looks, in steps that are looked at closely, at scores of rows against rows whose targets pair these up.

    Two views of n samples lie in a batch as halves, one after the other, or in turns. Where the targets pair rows as if
    it was the one, and the scores say that it is the other, the positives are those of other samples. Likewise where a
    batch is split into first and second views, and each is to find the one of its number.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (PositivesCompared,)

    def __init__(self, site: Site, course: Course, detail: Detail, late_values: LateValues, tape: Tape) -> None:
        super().__init__(site, course, detail)
        self._late_values = late_values
        self._tape = tape
        self._told: dict[Location | None, int] = {}

    def connect(self, signals: Signals) -> None:
        super().connect(signals)
        self.listen(self._tape.recorded, self._recorded, names=CLASSES)

    def _forget(self) -> None:
        self._compared: set[Op] = set()

    def _recorded(self, op: Op) -> None:
        operands = [tensor_of(value) for value in op.values[:2]]
        if len(operands) < 2 or self._told.get(op.location, 0) >= _MOST_TOLD:
            return
        scores, targets = operands
        if scores is None or targets is None or not has_graph(scores) or not (readable(scores) and readable(targets)):
            return
        rows = scores.shape[0] if scores.dim() == 2 else 0
        if not _LEAST_ROWS / 2 <= rows <= _MOST_ROWS or not _are_numbers(targets, rows):
            return
        if rows % 2 == 0 and rows >= _LEAST_ROWS:
            self._late_values.bring(self, [scores, targets], partial(self._look, self._course.steps, op.location))
        if scores.shape[1] == rows and (product := _each_with_each(op.values[0])) not in self._compared:
            self._split(op, product, targets)

    def _split(self, op: Op, product: Op | None, targets: torch.Tensor) -> None:
        """Rows of which one half is to find the other, once for both directions."""
        parts = [_Part(source_of(value, _TURNED), _rows(value)) for value in product.values[:2]] if product else []
        tensors = [part.tensor for part in parts if part.tensor is not None and readable(part.tensor)]
        split = _split_as(parts) if len(tensors) == 2 and tensors[0].shape == tensors[1].shape else None
        if product is not None and split is not None:
            self._compared.add(product)
            then = partial(self._look_at_parts, self._course.steps, op.location, *split)
            self._late_values.bring(self, [*tensors, targets], then)

    def _look_at_parts(
        self,
        step: int,
        where: Location | None,
        taken: Layout,
        split_at: Location | None,
        first: torch.Tensor,
        second: torch.Tensor,
        targets: torch.Tensor,
    ) -> None:
        if targets.equal(torch.arange(len(targets), device="cpu")):
            parts = first.detach().float(), second.detach().float()
            rows = torch.cat(parts) if taken == "halves" else torch.stack(parts, dim=1).flatten(0, 1)
            self._tell(step, where, rows @ rows.t(), taken, split_at)

    def _look(self, step: int, where: Location | None, scores: torch.Tensor, targets: torch.Tensor) -> None:
        partners, layouts = _partners(scores, targets), _layouts(len(scores))
        taken = next((name for name, pairs in layouts.items() if partners is not None and partners.equal(pairs)), None)
        if taken is not None:
            self._tell(step, where, scores, taken, None)

    def _tell(
        self, step: int, where: Location | None, scores: torch.Tensor, taken: Layout, split_at: Location | None
    ) -> None:
        layouts = _layouts(len(scores))
        other: Layout = "turns" if taken == "halves" else "halves"
        self._told[where] = self._told.get(where, 0) + 1
        self.emit(
            PositivesCompared(
                step=step,
                location=where,
                rows=len(scores),
                taken=taken,
                likeness=_likeness(scores, layouts[taken]),
                other_likeness=_likeness(scores, layouts[other]),
                neighbour_likeness=_likeness(scores, _layouts(len(scores), 1)[other]),
                split_at=split_at,
            )
        )


def _layouts(rows: int, beside: int = 0) -> dict[Layout, torch.Tensor]:
    """The other view of each row; or a row beside that, which is none."""
    own = torch.arange(rows, device="cpu")
    return {"halves": (own + rows // 2 + beside) % rows, "turns": (((own - beside) ^ 1) + beside) % rows}


def _wide(value: Value, names: frozenset[str]) -> Value:
    """What a value was before operations of these names; a scale is not what it was."""
    while value.by is not None and value.by.name in names and value.by.values:
        value = max(value.by.values, key=lambda each: each.count)
    return value


def _each_with_each(scores: Value) -> Op | None:
    """The product of rows with rows that scores are, but for a scale."""
    product = _wide(scores, SCALING | MOVES).by
    return product if product is not None and product.name in _EACH_WITH_EACH else None


def _rows(value: Value) -> torch.Tensor | None:
    """What one of two factors holds, a row for each sample; of `z.t()` only that may be left."""
    tensor, turned = tensor_of(source_of(value, _TURNED)), tensor_of(value)
    return turned.t() if tensor is None and turned is not None and turned.dim() == 2 else tensor


def _split_as(parts: list[_Part]) -> tuple[Layout, Location | None] | None:
    """How the rows of two parts of one tensor lay there, and where it was taken apart; None if they are no such."""
    taken = [_wide(part.value, _BY_ROW) for part in parts]
    pairs = zip(taken, parts, strict=True)
    held = [part.tensor if value is part.value else tensor_of(value) for value, part in pairs]
    tensors = [tensor for tensor in held if tensor is not None and tensor.dim() == 2]
    made = [value.by for value in taken if value.by is not None and value.by.values]
    whole = [source_of(op.values[0], RESHAPES | VIEWS) for op in made]
    if len(whole) != 2 or whole[0] is not whole[1] or len(tensors) != 2 or taken[0] is taken[1]:
        return None
    (stride, other_stride), rows = (each.stride(0) * each.element_size() for each in tensors), len(tensors[0])
    apart = abs(address(tensors[0]) - address(tensors[1])) if all(map(address, tensors)) else 0
    if stride == other_stride and apart in (rows * stride, stride / 2):
        return "halves" if apart == rows * stride else "turns", made[0].location
    return None


def _are_numbers(targets: torch.Tensor, rows: int) -> bool:
    return targets.dtype is torch.int64 and targets.shape == (rows,)


def _partners(scores: torch.Tensor, targets: torch.Tensor) -> torch.Tensor | None:
    """The row that each row is to find; scores may lack the column of the row itself."""
    rows, columns = scores.shape
    if columns == rows:
        return targets
    return targets + (targets >= torch.arange(rows, device="cpu")).long() if columns == rows - 1 else None


def _likeness(scores: torch.Tensor, partners: torch.Tensor) -> float:
    """The mean share of all other rows that have a lower score than the partner has: one half by chance."""
    rows, columns = scores.shape
    own, values = torch.arange(rows, device="cpu"), scores.detach().float()
    at = partners if columns == rows else partners - (partners > own).long()
    reached = values.gather(1, at[:, None])
    lower, equal = values < reached, values == reached
    if columns == rows:
        itself = torch.eye(rows, dtype=torch.bool, device="cpu")
        lower, equal = lower & ~itself, equal & ~itself
    beaten = lower.sum(1) + 0.5 * (equal.sum(1) - 1)
    return float((beaten / (rows - 2)).double().mean())
