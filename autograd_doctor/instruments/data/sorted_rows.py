"""Rows of a batch that were sorted by data of it, and meet rows of the same batch that were not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import torch

from autograd_doctor.events.data import SortedRowsMet
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.late_values import LateValues
from autograd_doctor.instruments.spine.loss_query import LossQuery
from autograd_doctor.instruments.spine.tape import Tape
from autograd_doctor.operations import ARITHMETIC, CATALOGUE, JOINS, MOVES, RECURRENT, TAKES
from autograd_doctor.reading.live_values import tensor_of
from autograd_doctor.reading.tensor_facts import readable
from autograd_doctor.reading.tensors_in import EVERYTHING, tensors_in
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.signals.loaders import BatchAsked
from autograd_doctor.tape import Labels, Op, Value, labels_behind, source_of

_SORTS = frozenset({"argsort", "sort"})
_MEETS = ARITHMETIC | frozenset(CATALOGUE) | JOINS
_OF_FIRST = frozenset({"linear", "matmul", "mm", "bmm", *RECURRENT})
"""Their rows are those of the first operand."""
_LOSES = _SORTS | {
    "__setitem__", "addmm", "baddbmm", "einsum", "flip", "gather", "index_add", "index_copy", "index_put",
    "masked_select", "repeat", "repeat_interleave", "roll", "scatter", "scatter_add", "take_along_dim", "topk",
}  # fmt: skip
"""Rows come out of them in another order, or beside others."""
_LEAST_ROWS = 4


@dataclass(frozen=True, eq=False)
class _Rows:
    """What has the rows of a batch. batch: its number, or the indices by which it was taken. of: the data that it was
    made of.

    sorted: the operation that found their order, and the one that took them in it; None for the order of the batch.
    """

    batch: int | Value
    count: int
    of: frozenset[Value]
    sorted: tuple[Op, Op] | None = None

    @property
    def order(self) -> Op | None:
        return self.sorted[0] if self.sorted is not None else None


class SortedRows(LossQuery):
    """Asks, of what a loader gave, or one index took, where rows that were taken in a sorted order meet others of the
    same batch, and whether that is another order.

    Data beside their own sorted self are compared with it on purpose. What brings rows back into the order of the batch
    is not told from others that choose rows: of these nothing is known any more.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (SortedRowsMet,)

    def __init__(self, site: Site, course: Course, tape: Tape, late_values: LateValues) -> None:
        super().__init__(site, course, tape)
        self._late_values = late_values
        self._batches: dict[Value, int] = {}
        """Of each thing that a loader gave, since the last step, which batch it is of."""
        self._count = 0
        self._sorts: dict[Op, torch.Tensor] = {}
        """How many rows each sort of this step has moved."""

    def connect(self, signals: Signals) -> None:
        super().connect(signals)
        self.listen(signals.loaders.drawn, self._drawn, attention=Attention.CLOSE)
        self.listen(self._tape.recorded, self._was_sorted, names=_SORTS)
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.CLOSE)

    def _drawn(self, asked: BatchAsked) -> None:
        self._count += 1
        for value in self._tape.values(tensors_in([asked.batch], EVERYTHING)):
            self._batches[value] = self._count

    def _step_taken(self, course: Course) -> None:
        self._batches.clear()
        self._sorts.clear()

    def _was_sorted(self, op: Op) -> None:
        order = tensor_of(op.outputs[-1])
        if order is not None and order.dim() == 1 and len(order) >= _LEAST_ROWS and readable(order):
            self._sorts[op] = (order != torch.arange(len(order), device=order.device)).sum()

    def _ask(self, roots: Sequence[Value], call: BackwardCall) -> None:
        if self._sorts:
            labels_behind(roots[0], self._label, live=False)

    def _label(self, op: Op, known: Labels[_Rows]) -> _Rows | None:
        own = self._own(op.output)
        if own is not None:
            return own
        given = {value: rows for value in op.values if (rows := known.get(value) or self._own(value)) is not None}
        if op.name in TAKES and [value.kind for value in op.values[1:]] == ["int"]:
            return self._taken(op, given, known)
        if not given:
            return None
        if op.name in _LOSES or (op.name in _OF_FIRST and op.values[0] not in given):
            return None
        if op.name in _OF_FIRST:
            given = {op.values[0]: given[op.values[0]]}
        return self._together(op, given)

    def _own(self, value: Value) -> _Rows | None:
        """The rows of what a loader gave."""
        batch = self._batches.get(value)
        return _Rows(batch, value.shape[0], frozenset((value,))) if batch is not None and value.shape else None

    def _taken(self, op: Op, given: Labels[_Rows], known: Labels[_Rows]) -> _Rows | None:
        """Rows in the order in which data of the same batch were sorted; or data by the indices of a batch."""
        rows, index = given.get(op.values[0]), source_of(op.values[1], MOVES)
        order = index.by if index.by in self._sorts else None
        if not given and order is None and not op.output.values and len(index.shape) == 1 == len(op.values[1].shape):
            return _Rows(index, index.count, frozenset((op.output,)))
        if rows is None or rows.order is not None or order is None or index is not order.outputs[-1]:
            return None
        key = order.values[0]
        sorted_by = known.get(key) or self._own(key)
        is_whole = op.values[1].shape == key.shape == (rows.count,)
        if not is_whole or key.values or sorted_by is None or sorted_by.batch != rows.batch:
            return None
        return replace(rows, sorted=(order, op)) if sorted_by.order is None else None

    def _together(self, op: Op, given: Labels[_Rows]) -> _Rows | None:
        every = [*given.values()]
        if len({(rows.batch, rows.count) for rows in every}) != 1:
            return None
        if op.name in JOINS and op.output.shape.count(every[0].count) != 1:  # one after the other
            return None
        orders = {rows.order for rows in every}
        if len(orders) == 1:
            return replace(every[0], of=frozenset().union(*(rows.of for rows in every)))
        if len(orders) == 2 and None in orders and op.name in _MEETS and op.output.learns:
            self._meet(op, given)
        return None

    def _meet(self, op: Op, given: Labels[_Rows]) -> None:
        for value, rows in given.items():
            others = [each for each in given if given[each].order is None and given[each].of.isdisjoint(rows.of)]
            if rows.sorted is not None and any(_is_beside(op, value, each, rows.count) for each in others):
                if self._is_news(op.location):
                    self._tell(op, rows.count, *rows.sorted)
                return

    def _tell(self, met: Op, rows: int, order: Op, taken: Op) -> None:
        step = self._course.steps

        def known(values: Sequence[int]) -> None:
            if values[0]:
                self.emit(
                    SortedRowsMet(
                        step=step,
                        location=taken.location,
                        sorted_at=order.location,
                        met_at=met.location,
                        operation=met.called,
                        rows=rows,
                        moved=values[0],
                    )
                )

        self._late_values.ask(self, [self._sorts[order]], known)


def _is_beside(op: Op, one: Value, other: Value, rows: int) -> bool:
    """Whether two have their rows on one axis, and no other of that size."""
    if any(each.shape.count(rows) != 1 for each in (one, other)):
        return False
    first, second = one.shape.index(rows), other.shape.index(rows)
    from_end = op.name in ARITHMETIC
    return first - len(one.shape) * from_end == second - len(other.shape) * from_end
