"""Weights that meet a loss after it was reduced to one number: they scale all of it alike.

The number is that of a loss function of torch, also after a change of its sign or size. Weights are data of as many
values as it was computed from, or as there were samples, that are not all the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from autograd_doctor.events.event import Event
from autograd_doctor.events.facts import TensorFacts
from autograd_doctor.events.losses import WeightedTooLate
from autograd_doctor.findings import Location
from autograd_doctor.instruments.instrument import Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.loss_query import LossQuery
from autograd_doctor.instruments.spine.tape import Tape
from autograd_doctor.instruments.spine.tensors import Tensors
from autograd_doctor.operations import COMPARING, SCALING
from autograd_doctor.reading.live_values import tensor_of
from autograd_doctor.reading.looks import Looks
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.tape import Op, Value, behind

_LOSSES = COMPARING | {"soft_margin_loss"}


class _Product(NamedTuple):
    loss: Op
    weights: TensorFacts


class LateWeights(LossQuery):
    """Tells, when a backward begins, of the products behind it."""

    emits: ClassVar[tuple[type[Event], ...]] = (WeightedTooLate,)

    def __init__(self, site: Site, course: Course, tape: Tape, tensors: Tensors) -> None:
        super().__init__(site, course, tape)
        self._tensors = tensors
        self._products: dict[Op, _Product] = {}
        self._looks: Looks[Location | None] = Looks()

    def connect(self, signals: Signals) -> None:
        super().connect(signals)
        self.listen(self._tape.recorded, self._multiplied, names=SCALING)
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.CLOSE)

    def _step_taken(self, course: Course) -> None:
        self._looks.step_taken()
        self._products.clear()

    def _multiplied(self, op: Op) -> None:
        """The weights are described at once: they may be gone when the backward begins."""
        live, data = op.live, op.plain
        loss = _loss_behind(live[0]) if len(live) == len(data) == 1 and op.output.shape else None
        weights = tensor_of(data[0]) if loss is not None else None
        if loss is not None and weights is not None and _are_weights(data[0], loss) and self._looks.take(op.location):
            self._products[op] = _Product(loss, self._tensors.describe(weights))

    def _ask(self, roots: Sequence[Value], call: BackwardCall) -> None:
        for op in behind(roots) if self._products else ():
            found = self._products.pop(op, None)
            if found is not None:
                self._tell(op, found)

    def _tell(self, op: Op, found: _Product) -> None:
        self._looks.told(op.location)
        self.emit(
            WeightedTooLate(
                step=self._course.steps,
                backward=self._course.backwards,
                location=op.location,
                operation=found.loss.name,
                reduced_at=found.loss.location,
                values=_count(found.loss),
                weights=found.weights,
            )
        )


def _loss_behind(value: Value) -> Op | None:
    """The loss function whose one number it is, scaled by what does not learn, if it is one."""
    while value.by is not None and value.by.name in SCALING | {"neg"} and not value.shape:
        if len(value.by.live) != 1:
            return None
        value = value.by.live[0]
    loss = value.by
    takes_two = loss is not None and loss.name in _LOSSES and len(loss.values) > 1 and loss.values[0].shape
    return loss if takes_two and not value.shape else None


def _count(loss: Op) -> int:
    """Of how many values a loss is computed: of classes there is one for each target."""
    prediction, target = loss.values[:2]
    return prediction.count if target.is_floating else target.count


def _are_weights(data: Value, loss: Op) -> bool:
    low, high = data.span or (0.0, 0.0)
    return data.count > 1 and data.count in (_count(loss), loss.values[0].shape[0]) and low < high
