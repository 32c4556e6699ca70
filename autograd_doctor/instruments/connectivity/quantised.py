"""Values that were looked up by a choice of the nearest entry, and what of a loss still teaches those who chose."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import ClassVar, Literal, NamedTuple

from autograd_doctor.events.connectivity import ChoiceWithoutGradient
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.loss_query import LossQuery
from autograd_doctor.instruments.spine.tape import Tape
from autograd_doctor.reading.linear import SUMS
from autograd_doctor.reading.losses import REGRESSION
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.provenance import numbers_in
from autograd_doctor.reading.shaping import MOVES
from autograd_doctor.reading.tape import Labels, Op, Value, labels_behind
from autograd_doctor.signals.backward import BackwardCall

_CHOICES = frozenset({"argmax", "argmin", "argsort", "max", "min", "sort", "topk"})
_MARKS = frozenset({"one_hot", "scatter"})
"""Operations that write a choice down as zeros and ones."""
_LOOK_UPS = frozenset({"__getitem__", "embedding", "index_select", "linear", "matmul", "mm"})
_COMPARES = REGRESSION | {"sub"}
_KEEPS = MOVES | {"abs", "div", "mean", "mul", "neg", "pow", "square", "sum"}
_MOST_TOLD = 8


class _Loss(NamedTuple):
    """A number that is the sum of pulls towards what was looked up, and of other terms.

    pulled: the parameters, as bits, that the pulls teach. values, connected: those that flow into the other terms, and
    those that these teach. target: where the pulls are towards was looked up.
    """

    pulled: int = 0
    values: int = 0
    connected: int = 0
    target: Op | None = None


_Label = Literal["chosen"] | Op | _Loss
"""A choice, what was looked up by one, by the operation that did, or a loss."""


class Quantised(LossQuery):
    """Follows choices to what they pick out, and that to where it is compared with what it was chosen for."""

    emits: ClassVar[tuple[type[Event], ...]] = (ChoiceWithoutGradient,)

    def __init__(self, site: Site, course: Course, tape: Tape) -> None:
        super().__init__(site, course, tape)
        self._told: Counter[Place | None] = Counter()

    def _ask(self, roots: Sequence[Value], call: BackwardCall) -> None:
        loss = labels_behind(roots[0], _label, live=False).get(roots[0]) if len(roots) == 1 else None
        if not isinstance(loss, _Loss) or loss.target is None or not _goes_on(loss.target.output):
            return
        alone = loss.pulled & loss.values & ~loss.connected
        if alone and loss.connected and self._told[loss.target.place] < _MOST_TOLD:
            self._told[loss.target.place] += 1
            self.emit(
                ChoiceWithoutGradient(
                    step=self._course.steps,
                    parameters=numbers_in(alone),
                    location=locate(loss.target.place),
                )
            )


def _label(op: Op, known: Labels[_Label]) -> _Label | None:
    if op.name in _CHOICES and any(not each.is_floating and each.values for each in op.outputs):
        return "chosen"
    before = [known.get(value) for value in op.values]
    if "chosen" in before:
        if op.name in _LOOK_UPS and op.output.is_floating:
            return op
        if op.name in _MARKS or (op.name in MOVES and before[0] == "chosen"):
            return "chosen"
    if op.name in MOVES and isinstance(before[0] if before else None, Op):
        return before[0]
    pull = _pull(op, known) if op.name in _COMPARES else None
    return pull or _added(op, known)


def _pull(op: Op, known: Labels[_Label]) -> _Loss | None:
    """What was looked up beside something of its shape, from values of which it was chosen."""
    both = op.values[:2]
    looked_up = [value for value in both if isinstance(known.get(value), Op)]
    others = [value for value in both if value not in looked_up]
    if not len(looked_up) == len(others) == 1 or looked_up[0].shape != others[0].shape:
        return None
    target = known[looked_up[0]]
    unheard = looked_up[0].values & ~looked_up[0].connected
    if not unheard & others[0].values or not isinstance(target, Op):
        return None
    return _Loss(op.output.connected & others[0].connected, target=target)


def _added(op: Op, known: Labels[_Label]) -> _Loss | None:
    before = [known.get(value) for value in op.values]
    losses = [each for each in before if isinstance(each, _Loss)]
    if losses and op.name in SUMS and (not op.output.shape or len(losses) == len(before)):
        others = [_Loss(values=value.values, connected=value.connected) for value in op.values]
        return _sum_of([each if isinstance(each, _Loss) else other for each, other in zip(before, others, strict=True)])
    return losses[0] if losses and len(before) == 1 and op.name in _KEEPS else None


def _sum_of(losses: list[_Loss]) -> _Loss:
    pulled = values = connected = 0
    for loss in losses:
        pulled, values, connected = pulled | loss.pulled, values | loss.values, connected | loss.connected
    return _Loss(pulled, values, connected, next((loss.target for loss in losses if loss.target), None))


def _goes_on(value: Value) -> bool:
    """Whether something was computed of it, beside what it is compared with."""
    pending = [value]
    while pending:
        for op in pending.pop().uses:
            if op.name in MOVES:
                pending += op.outputs
            elif op.name not in _COMPARES:
                return True
    return False
