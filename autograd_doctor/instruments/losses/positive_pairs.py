"""Losses that tell apart, for each row of a batch, its positive from all other rows: is that the row most like it?"""

from __future__ import annotations

from functools import partial
from typing import ClassVar, Literal

import torch

from autograd_doctor.events.event import Event
from autograd_doctor.events.losses import PositivesCompared
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.late_values import LateValues
from autograd_doctor.instruments.spine.lineage import Lineage
from autograd_doctor.operations import CLASSES
from autograd_doctor.reading.loss_arguments import operands_of
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.provenance import has_graph
from autograd_doctor.reading.tensor_facts import readable
from autograd_doctor.signals import Signals
from autograd_doctor.signals.operations import Operation

Layout = Literal["halves", "turns"]
_LEAST_ROWS, _MOST_ROWS = 8, 2048
_MOST_TOLD = 16
"""Of a line: what training does to the rows comes after its first steps."""


class PositivePairs(Instrument):
    """Looks, in steps that are looked at closely, at scores of rows against rows whose targets pair these up.

    Two views of n samples lie in a batch as halves, one after the other, or in turns. Where the targets pair rows as if
    it was the one, and the scores say that it is the other, the positives are those of other samples.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (PositivesCompared,)

    def __init__(self, site: Site, course: Course, late_values: LateValues, lineage: Lineage) -> None:
        super().__init__(site)
        self._course = course
        self._late_values = late_values
        self._lineage = lineage
        self._told: dict[Place | None, int] = {}

    def connect(self, signals: Signals) -> None:
        self.listen(self._lineage.operated, self._operation_ended, names=CLASSES)

    def _operation_ended(self, operation: Operation) -> None:
        operands = operands_of(operation.args, operation.kwargs)
        told = self._told.get(operation.place, 0)
        if operands is None or told >= _MOST_TOLD or self._course.running is not None:
            return
        scores, targets = operands
        rows = scores.shape[0] if scores.dim() == 2 else 0
        if not has_graph(scores) or not (readable(scores) and readable(targets)):
            return
        if not _LEAST_ROWS <= rows <= _MOST_ROWS or rows % 2 or not _are_numbers(targets, rows):
            return
        step, where = self._course.steps, operation.place
        self._late_values.bring(self, [scores, targets], partial(self._look, step, where))

    def _look(self, step: int, where: Place | None, scores: torch.Tensor, targets: torch.Tensor) -> None:
        rows, partners = len(scores), _partners(scores, targets)
        own = torch.arange(rows, device="cpu")
        layouts: dict[Layout, torch.Tensor] = {"halves": (own + rows // 2) % rows, "turns": own ^ 1}
        taken = next((name for name, pairs in layouts.items() if partners is not None and partners.equal(pairs)), None)
        if taken is None:
            return
        likeness = {name: _likeness(scores, pairs) for name, pairs in layouts.items()}
        self._told[where] = self._told.get(where, 0) + 1
        self.emit(
            PositivesCompared(
                step=step,
                location=locate(where),
                rows=rows,
                taken=taken,
                likeness=likeness[taken],
                other_likeness=likeness["turns" if taken == "halves" else "halves"],
            )
        )


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
