"""Targets of a CTC loss that hold the blank, which stands between labels and is none of them."""

from __future__ import annotations

from typing import Any, ClassVar

import torch

from autograd_doctor.events.errors import BlankTargets
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.lineage import Lineage
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.provenance import has_graph
from autograd_doctor.reading.tensor_facts import at_home, readable
from autograd_doctor.signals import Signals
from autograd_doctor.signals.operations import Operation

_MOST_TOLD = 4
"""Of a line: labels are numbered the same way in every batch."""
_PARAMETERS = ("log_probs", "targets", "input_lengths", "target_lengths", "blank")


class CtcBlanks(Instrument):
    """Looks at targets, in steps that are looked at closely, as far as their lengths say that they count."""

    emits: ClassVar[tuple[type[Event], ...]] = (BlankTargets,)

    def __init__(self, site: Site, course: Course, lineage: Lineage) -> None:
        super().__init__(site)
        self._course = course
        self._lineage = lineage
        self._told: dict[Place | None, int] = {}

    def connect(self, signals: Signals) -> None:
        self.listen(self._lineage.operated, self._operation_ended, names={"ctc_loss"})

    def _operation_ended(self, operation: Operation) -> None:
        given = dict(zip(_PARAMETERS, operation.args, strict=False)) | operation.kwargs
        told, targets = self._told.get(operation.place, 0), given.get("targets")
        if not isinstance(targets, torch.Tensor) or not readable(targets):
            return
        if told >= _MOST_TOLD or not has_graph(operation.result):
            return
        blank = given.get("blank", 0)
        samples = labels_of(at_home(targets), given.get("target_lengths"))
        blanks = [int((labels == blank).sum()) for labels in samples]
        if any(blanks):
            self._told[operation.place] = told + 1
            self.emit(
                BlankTargets(
                    step=self._course.steps,
                    location=locate(operation.place),
                    blank=blank,
                    blanks=sum(blanks),
                    labels=sum(labels.numel() for labels in samples),
                    samples=sum(count > 0 for count in blanks),
                    classes=operation.args[0].shape[-1] if operation.args else 0,
                )
            )


def labels_of(targets: torch.Tensor, lengths: Any) -> list[torch.Tensor]:
    """The labels of each sample, without what fills rows up.

    targets: of shape (samples, longest), or all one after the other. lengths: a tensor or a sequence.
    """
    counts = [int(each) for each in (lengths.flatten().tolist() if isinstance(lengths, torch.Tensor) else [*lengths])]
    if targets.dim() == 1:
        return list(targets.split(counts)) if sum(counts) == targets.numel() else [targets[: sum(counts)]]
    return [row[:count] for row, count in zip(targets, counts, strict=False)]
