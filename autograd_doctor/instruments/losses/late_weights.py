"""Weights that meet a loss after it was reduced to one number: they scale all of it alike.

The number is that of a loss function of torch, or the mean of values that were compared with data one by one, also
after a change of its sign or size. Weights are data of as many values as it was computed from, or as there were
samples, that are not all the same. Nothing is told of a mean where the loss holds its values otherwise, too.
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
from autograd_doctor.operations import BY_ELEMENT, CLASSES, COMPARING, MOVES, PICKS, SCALING, TOTALS
from autograd_doctor.reading.live_values import tensor_of
from autograd_doctor.reading.looks import Looks
from autograd_doctor.reading.pairs import ELEMENTWISE
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.summands import parts_of, summands
from autograd_doctor.tape import Op, Value, behind

_LOSSES = COMPARING | {"soft_margin_loss"}
_COMPARES = BY_ELEMENT | CLASSES | PICKS | {"sub"}
_BY_SAMPLE = ELEMENTWISE | MOVES | TOTALS | {"logsumexp"}
"""Operations that make values of samples of values of the same samples."""


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
        scaled = summands(op) if len(live) == len(data) == 1 and op.output.shape else None
        loss = _loss_behind(scaled[0].value) if scaled else None
        weights = tensor_of(data[0]) if loss is not None else None
        if loss is not None and weights is not None and _are_weights(data[0], loss) and self._looks.take(op.location):
            self._products[op] = _Product(loss, self._tensors.describe(weights))

    def _ask(self, roots: Sequence[Value], call: BackwardCall) -> None:
        """What was compared by hand may be anything, unless its mean is a term of the loss."""
        behind_roots = set(behind(roots)) if self._products else set()
        terms = _terms(roots) if behind_roots else set()
        for op in [each for each in self._products if each in behind_roots]:
            found = self._products.pop(op)
            mean = None if found.loss.name in _LOSSES else found.loss
            if mean is None or (op in terms and behind_roots.isdisjoint({*mean.values[0].uses} - {mean})):
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
    """What has made one number of a loss for each sample, scaled by what does not learn, if it is one."""
    divisors: list[object] = []
    while value.by is not None and value.by.name in SCALING | {"neg"} and not value.shape:
        scaled = summands(value.by)
        if not scaled:
            return None
        divisors += value.by.numbers if value.by.name == "div" else []
        value = scaled[0].value
    op = value.by
    if op is None or value.shape or not op.values or not op.values[0].shape:
        return None
    if op.name in _LOSSES:
        return op if len(op.values) > 1 else None
    is_mean = op.name == "mean" or (op.name == "sum" and not {_count(op), op.values[0].shape[0]}.isdisjoint(divisors))
    return op if is_mean and _is_of_samples(op) else None


def _terms(roots: Sequence[Value]) -> set[Op]:
    """The operations of which the roots are sums with weights."""
    return {value.by for root in roots for value, _ in parts_of(root) if value.by is not None}


def _is_of_samples(mean: Op) -> bool:
    """Whether each of its values comes of a comparison with data of its own."""
    averaged = mean.values[0]
    pending, met = [averaged], set[Op]()
    while pending:
        op = pending.pop().by
        if op is None or op in met:
            continue
        met.add(op)
        if op.name in _COMPARES and _meets_data(op, averaged.shape[0]):
            return True
        pending += op.live if op.name in _BY_SAMPLE else []
    return False


def _meets_data(op: Op, samples: int) -> bool:
    return len(op.live) == 1 and any(each.shape[:1] == (samples,) for each in op.plain)


def _count(loss: Op) -> int:
    """Of how many values a loss is computed: of classes there is one for each target."""
    if len(loss.values) == 1:
        return loss.values[0].count
    prediction, target = loss.values[:2]
    return prediction.count if target.is_floating else target.count


def _are_weights(data: Value, loss: Op) -> bool:
    low, high = data.span or (0.0, 0.0)
    return data.count > 1 and data.count in (_count(loss), loss.values[0].shape[0]) and low < high
