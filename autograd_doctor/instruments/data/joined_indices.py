"""Indices of several samples, joined as they are, that pick from the joined rows of the same samples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import ClassVar

import torch

from autograd_doctor.events.data import IndicesJoined
from autograd_doctor.events.event import Event
from autograd_doctor.findings import Location
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.late_values import LateValues
from autograd_doctor.instruments.spine.tape import Tape
from autograd_doctor.operations import CONCATENATIONS, MOVES, TAKES
from autograd_doctor.reading.live_values import tensor_of
from autograd_doctor.reading.tensor_facts import readable
from autograd_doctor.signals import Signals
from autograd_doctor.tape import Op, Value, source_of

_MOST_LOOKS = 16
"""At each line that joins indices."""
_MOST_WAYS = 256
"""Operations on the way back from rows to what joined them."""
_MOST_PARTS, _MOST_NUMBERS = 1024, 2**22


@dataclass(eq=False, slots=True)
class _Join:
    """sizes: of its parts, along the dimension in which they are joined."""

    sizes: list[int]
    dim: int
    location: Location | None
    is_looked_at: bool = False


@dataclass(slots=True)
class _Line:
    """One that joins indices. step: the first in which they were seen to pick.

    parts: those behind the first of each join. rows: how many their samples have; reach: how many these would be if
    each ended with the highest of its indices. are_moved: some are not those of a sample by itself; are_right: all are
    of rows of their own sample, among those of all.
    """

    step: int
    used_at: Location | None
    operation: str
    batches: int = 0
    parts: int = 0
    reach: int = 0
    rows: int = 0
    are_moved: bool = False
    are_right: bool = True

    def note(self, samples: Sequence[tuple[int, int]], spans: Sequence[tuple[int, int]]) -> None:
        """samples: how many rows each has, and how many there are before. spans: its lowest and its highest index."""
        every = [(*sample, *span) for sample, span in zip(samples, spans, strict=True)]
        behind = [(size, high) for size, start, _, high in every if start]
        are_own = all(low >= 0 and high < size for size, _, low, high in every)
        self.are_moved |= not are_own or any(low >= start for _, start, low, _ in every if start)
        self.are_right &= all(start <= low and high < start + size for size, start, low, high in every)
        self.batches += 1
        self.parts += len(behind)
        self.rows += sum(size for size, _ in behind)
        self.reach += sum(high + 1 for _, high in behind)


class JoinedIndices(Instrument):
    """Follows indices back to where they were joined, and rows that they pick from to where these were, in steps that
    are looked at closely.

    Indices that are shifted after they were joined, or counted within all rows from the first, are not joined as they
    are. What workers of a loader join, and NumPy, nobody hears.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (IndicesJoined,)

    def __init__(self, site: Site, course: Course, late_values: LateValues, tape: Tape) -> None:
        super().__init__(site)
        self._course = course
        self._late_values = late_values
        self._tape = tape
        self._joins = self.value_table()
        """Of tensors that were joined, also in an earlier step."""
        self._lines: dict[Location | None, _Line] = {}
        self._looks: Counter[Location | None] = Counter()

    def connect(self, signals: Signals) -> None:
        self.listen(self._tape.recorded, self._joined, names=CONCATENATIONS)
        self.listen(self._tape.recorded, self._taken, names=TAKES)

    def finish(self) -> None:
        knows_how = any(line.parts and line.are_right for line in self._lines.values())
        for location, line in self._lines.items():
            if line.parts and not line.are_moved:
                self.emit(
                    IndicesJoined(
                        step=line.step,
                        location=location,
                        used_at=line.used_at,
                        operation=line.operation,
                        batches=line.batches,
                        parts=line.parts,
                        reach=line.reach,
                        rows=line.rows,
                        others_moved=knows_how,
                    )
                )

    def _joined(self, op: Op) -> None:
        tensor, shape = tensor_of(op.output), op.output.shape
        if tensor is None or not shape or not 1 < len(op.values) <= _MOST_PARTS:
            return
        dim = _dim_of(op) % len(shape)
        sizes = [value.shape[dim] if dim < len(value.shape) else 0 for value in op.values]
        if sum(sizes) == shape[dim]:
            self._joins.put(tensor, _Join(sizes, dim, op.location))

    def _taken(self, op: Op) -> None:
        """Rows were picked by whole numbers, which may have been joined, as the rows may have been."""
        if len(op.values) != 2 or not len(self._joins):
            return
        rows, indices = op.values
        if indices.kind != "int" or op.output.shape[: len(indices.shape)] != indices.shape or not rows.shape:
            return
        origin = source_of(indices, MOVES)
        join = self._join_of(origin)
        if join is None or join.is_looked_at or self._looks[join.location] >= _MOST_LOOKS:
            return
        sizes = self._sizes_of(rows, len(join.sizes))
        held = tensor_of(origin)
        if sizes is None or held is None or not readable(held) or not 0 < held.numel() <= _MOST_NUMBERS:
            return
        join.is_looked_at = True
        self._looks[join.location] += 1
        line = self._lines.setdefault(join.location, _Line(self._course.steps, op.location, op.name))
        samples = zip(sizes, accumulate([0, *sizes[:-1]]), strict=True)
        parts = held.detach().split(join.sizes, join.dim)
        given = [sample for sample, part in zip(samples, parts, strict=True) if part.numel()]
        spans = torch.stack([torch.stack(part.aminmax()) for part in parts if part.numel()])

        def known(values: Sequence[torch.Tensor]) -> None:
            line.note(given, values[0].reshape(-1, 2).tolist())

        self._late_values.ask(self, [spans], known)

    def _join_of(self, value: Value) -> _Join | None:
        tensor = tensor_of(value)
        known: _Join | None = self._joins.get(tensor) if tensor is not None else None
        return known

    def _sizes_of(self, rows: Value, parts: int) -> list[int] | None:
        """How many of these rows are of each sample, None where no join of so many parts is behind them."""
        waiting, met = [rows], {rows}
        while waiting and len(met) < _MOST_WAYS:
            value = waiting.pop()
            join = self._join_of(value)
            if join is not None and join.dim == 0 and len(join.sizes) == parts:
                return join.sizes
            before = value.by.values if value.by is not None and not value.is_parameter else []
            new = [each for each in before if each.shape[:1] == rows.shape[:1] and each not in met]
            met.update(new)
            waiting += new
        return None


def _dim_of(op: Op) -> int:
    if op.name == "cat":
        return op.dim or 0
    return 0 if op.name == "vstack" or len(op.output.shape) == 1 else 1
