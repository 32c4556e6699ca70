"""Targets of a CTC loss that hold the blank, which is no label, and those that are too long for what is to spell them.

Each label takes a place of its own, and between two that are the same there must be a blank: without enough places no
alignment exists, the loss is infinite, or zero under ``zero_infinity`` (Graves et al. 2006, section 3.1).
"""

from __future__ import annotations

from typing import Any, ClassVar

import torch

from autograd_doctor.events.errors import BlankTargets, TargetsTooLong
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
_MOST_COUNTED = 64
"""Of a line: how long samples are differs from batch to batch."""
_PARAMETERS = ("log_probs", "targets", "input_lengths", "target_lengths", "blank", "reduction", "zero_infinity")


class CtcTargets(Instrument):
    """Looks at targets, in steps that are looked at closely, as far as their lengths say that they count."""

    emits: ClassVar[tuple[type[Event], ...]] = (BlankTargets, TargetsTooLong)

    def __init__(self, site: Site, course: Course, lineage: Lineage) -> None:
        super().__init__(site)
        self._course = course
        self._lineage = lineage
        self._told: dict[Place | None, int] = {}
        self._counted: dict[Place | None, int] = {}

    def connect(self, signals: Signals) -> None:
        self.listen(self._lineage.operated, self._operation_ended, names={"ctc_loss"})

    def _operation_ended(self, operation: Operation) -> None:
        given = dict(zip(_PARAMETERS, operation.args, strict=False)) | operation.kwargs
        targets = given.get("targets")
        if isinstance(targets, torch.Tensor) and readable(targets) and has_graph(operation.result):
            samples = labels_of(at_home(targets), given.get("target_lengths"))
            self._tell_of_blanks(operation, samples, given)
            self._tell_of_lengths(operation, samples, given)

    def _tell_of_blanks(self, operation: Operation, samples: list[torch.Tensor], given: dict[str, Any]) -> None:
        told, blank = self._told.get(operation.place, 0), given.get("blank", 0)
        blanks = [int((labels == blank).sum()) for labels in samples]
        if told >= _MOST_TOLD or not any(blanks):
            return
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

    def _tell_of_lengths(self, operation: Operation, samples: list[torch.Tensor], given: dict[str, Any]) -> None:
        counted = self._counted.get(operation.place, 0)
        is_left_to_torch = given.get("zero_infinity") and given.get("reduction") != "none"
        if counted >= _MOST_COUNTED or not is_left_to_torch:
            return
        self._counted[operation.place] = counted + 1
        lengths = lengths_of(given.get("input_lengths"))
        needed = [labels.numel() + int((labels[1:] == labels[:-1]).sum()) for labels in samples]
        lacking = [need - length for need, length in zip(needed, lengths, strict=False) if need > length]
        self.emit(
            TargetsTooLong(
                step=self._course.steps,
                location=locate(operation.place),
                samples=len(samples),
                too_long=len(lacking),
                most_lacking=max(lacking, default=0),
            )
        )


def lengths_of(given: Any) -> list[int]:
    """Lengths that a program gives as a tensor, or as a sequence of numbers."""
    return [int(each) for each in (given.flatten().tolist() if isinstance(given, torch.Tensor) else [*given])]


def labels_of(targets: torch.Tensor, lengths: Any) -> list[torch.Tensor]:
    """The labels of each sample, without what fills rows up.

    targets: of shape (samples, longest), or all one after the other. lengths: a tensor or a sequence.
    """
    counts = lengths_of(lengths)
    if targets.dim() == 1:
        return list(targets.split(counts)) if sum(counts) == targets.numel() else [targets[: sum(counts)]]
    return [row[:count] for row, count in zip(targets, counts, strict=False)]
