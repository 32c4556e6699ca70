"""Operations of torch that raised: what reached them."""

from __future__ import annotations

from typing import ClassVar

from autograd_doctor.events.errors import OperationFailed
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.batch_sources import BatchSources
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.lineage import Lineage
from autograd_doctor.instruments.spine.tensors import Tensors
from autograd_doctor.reading.places import here
from autograd_doctor.signals import Signals
from autograd_doctor.signals.operations import Operation

_MOST = 20
"""A program that catches errors on purpose need not fill the trace."""
_MOST_OPERANDS = 4
"""Tensors to describe of one call: operations of torch take three, a layer's functional form a weight and a bias."""


class Failures(Instrument):
    """Describes the operands of the first failures; the lineage knows where they came from."""

    emits: ClassVar[tuple[type[Event], ...]] = (OperationFailed,)

    def __init__(
        self, site: Site, course: Course, tensors: Tensors, lineage: Lineage, batch_sources: BatchSources
    ) -> None:
        super().__init__(site)
        self._course = course
        self._tensors = tensors
        self._lineage = lineage
        self._batch_sources = batch_sources
        self._seen = 0

    def connect(self, signals: Signals) -> None:
        self.listen(signals.operations.failed, self._failed)

    def _failed(self, operation: Operation) -> None:
        self._seen += 1
        if self._seen > _MOST:
            return
        tensors = operation.inputs
        self.emit(
            OperationFailed(
                step=self._course.steps,
                operation=operation.name,
                location=here(),
                error=f"{type(operation.error).__name__}: {operation.error}",
                operands=[self._tensors.describe(tensor) for tensor in tensors[:_MOST_OPERANDS]],
            )
        )
