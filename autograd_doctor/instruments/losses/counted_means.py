"""Losses that are the mean over what targets or a mask leave in, with how much that is in each micro-batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import isclose
from typing import ClassVar, NamedTuple

import torch

from autograd_doctor.events.event import Event
from autograd_doctor.events.losses import MeanCounted
from autograd_doctor.instruments.instrument import Site
from autograd_doctor.instruments.spine.backward_runs import is_weighed
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.ledger import Ledger
from autograd_doctor.instruments.spine.loss_query import LossQuery
from autograd_doctor.instruments.spine.tape import Tape
from autograd_doctor.operations import BY_ELEMENT, CLASSES, IGNORED, MASKED, MOVES
from autograd_doctor.reading.live_values import tensor_of
from autograd_doctor.reading.numbers import Numbers
from autograd_doctor.reading.tensor_facts import readable
from autograd_doctor.signals import Signals
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.signals.loaders import BatchAsked
from autograd_doctor.summands import summands
from autograd_doctor.tape import Op, Value, source_of

_SAME_VALUES = MOVES - {"__getitem__", "gather", "index_select", "masked_select", "take_along_dim"}
_MOST_TOLD = 400
"""Of a line: a few dozen steps of it are looked at closely."""
_AS_GOOD_AS = 1e-3
"""Between a divisor and how many were counted: a small number may keep it from zero."""


class _Counted(NamedTuple):
    """What a loss counts. shape: of what it may count, a row for each sample. uneven: it counts more of some rows."""

    op: Op
    shape: tuple[int, ...]
    counted: int
    uneven: bool


class CountedMeans(LossQuery):
    """Looks at targets and masks while they live, in steps that are looked at closely; masks that a model made do not
    count: which values are hard, or sure, is its own choice."""

    emits: ClassVar[tuple[type[Event], ...]] = (MeanCounted,)

    def __init__(self, site: Site, course: Course, tape: Tape, ledger: Ledger) -> None:
        super().__init__(site, course, tape)
        self._ledger = ledger
        self._means: dict[Value, _Counted] = {}
        self._sums: dict[Value, _Counted] = {}
        self._kept_for = -1
        self._told: Counter[object] = Counter()
        self._passes = Numbers()
        self._drawn_by = 0

    def connect(self, signals: Signals) -> None:
        super().connect(signals)
        self.listen(self._tape.recorded, self._recorded, names=BY_ELEMENT | CLASSES | {"div", "mean"})
        self.listen(signals.loaders.drawn, self._drawn)

    def _drawn(self, asked: BatchAsked) -> None:
        self._drawn_by = self._passes.number(asked.iterator)

    # ----------------------------------------------------------------------------------------------------- counting

    def _recorded(self, op: Op) -> None:
        if self._kept_for != self._course.steps:
            self._kept_for = self._course.steps
            self._means.clear()
            self._sums.clear()
        if not op.output.learns or op.output.count != 1:
            return
        if op.name == "div":
            counted = self._of_quotient(op)
        elif op.name == "mean":
            counted = _of_choice(op, op.values[0]) if _is_of_loss(op.values[0]) else None
        else:
            counted = _of_targets(op) if op.name in CLASSES else _of_choice(op, op.plain[0]) if op.plain else None
        if counted is not None:
            is_mean = op.name in ("div", "mean") or op.reduction == "mean"
            (self._means if is_mean else self._sums)[op.output] = counted

    def _of_quotient(self, op: Op) -> _Counted | None:
        """A sum, divided by how many it is of."""
        above, below = op.operands[:2]
        if not isinstance(above, Value) or not above.learns or (isinstance(below, Value) and below.learns):
            return None
        counted = self._sums.get(above) or _of_masked_sum(above)
        number = _number(below) if counted is not None else None
        is_own = counted is not None and number is not None and isclose(number, counted.counted, rel_tol=_AS_GOOD_AS)
        return counted if is_own else None

    # ------------------------------------------------------------------------------------------------------- losses

    def _ask(self, roots: Sequence[Value], call: BackwardCall) -> None:
        walk = self._ledger.walk
        found = [each for root in roots for each in self._terms(root, 1.0)] if self._means else []
        if walk is None or len(found) != 1 or is_weighed(call):
            return
        counted, factor = found[0]
        line = counted.op.location
        if self._told[line] < _MOST_TOLD:
            self._told[line] += 1
            self.emit(
                MeanCounted(
                    step=self._course.steps,
                    backward=walk.backward,
                    location=line,
                    counted=counted.counted,
                    shape=list(counted.shape),
                    uneven=counted.uneven,
                    factor=factor,
                    drawn_by=self._drawn_by,
                )
            )

    def _terms(self, value: Value, factor: float) -> Iterator[tuple[_Counted, float]]:
        """The means that a loss is the sum of, as often as it is known that it counts them."""
        op, counted = value.by, self._means.get(value)
        if counted is not None:
            yield counted, factor
        elif op is not None:
            for part in summands(op) or ():
                if part.value.learns and part.factor:
                    yield from self._terms(part.value, factor * part.factor)


def _number(side: object) -> float | None:
    """A side that is one number, and at hand."""
    if not isinstance(side, Value):
        return float(side) if isinstance(side, int | float) else None
    tensor = tensor_of(side)
    return float(tensor) if side.count == 1 and tensor is not None and readable(tensor) else None


# ----------------------------------------------------------------------------------------------- targets and masks


def _of_targets(op: Op) -> _Counted | None:
    """Those of a loss over classes that it does not ignore."""
    if len(op.values) != 2 or op.values[1].kind != "int" or op.values[1].values:
        return None
    scores, targets = op.values
    chosen = _of_choice(op, targets)
    if chosen is not None:
        return chosen
    tensor, shape = tensor_of(targets), _whole(targets, scores)
    if tensor is None or not readable(tensor):
        return None
    return _counted(op, (tensor != op.options.get("ignore_index", IGNORED)).reshape(shape))


def _whole(targets: Value, scores: Value) -> tuple[int, ...]:
    """The shape that targets had before they were put in one row, or that their scores had."""
    before = source_of(targets, _SAME_VALUES).shape
    if len(before) < 2:
        classes = scores.shape[-1]
        whole = source_of(scores, _SAME_VALUES).shape
        before = whole[:-1] if len(whole) > 2 and whole[-1] == classes else before
    return before if torch.Size(before).numel() == targets.count else targets.shape


def _of_choice(op: Op, value: Value) -> _Counted | None:
    """Values that a mask has chosen."""
    chosen_by = source_of(value, _SAME_VALUES).by
    if chosen_by is None or chosen_by.name not in MASKED or len(chosen_by.values) != 2:
        return None
    mask = chosen_by.values[1]
    return _of_mask(op, mask) if mask.kind == "bool" else None


def _of_masked_sum(total: Value) -> _Counted | None:
    """The sum of a loss for each element, times a mask or of those that it has chosen."""
    op = total.by
    if op is None or op.name != "sum" or not op.live:
        return None
    made_by = op.live[0].by
    if made_by is None or made_by.name != "mul" or len(made_by.live) != 1 or len(made_by.plain) != 1:
        return _of_choice(op, op.live[0]) if _is_of_loss(op.live[0]) else None
    return _of_mask(op, made_by.plain[0]) if _is_of_loss(made_by.live[0]) else None


def _is_of_loss(value: Value) -> bool:
    """Whether there is a loss for each element behind it, of data that are no more than compared."""
    op = source_of(value, _SAME_VALUES | MASKED).by
    if op is None:
        return False
    if op.name in BY_ELEMENT | CLASSES:
        return op.reduction == "none"
    before = op.values[0].by if op.is_square or op.name == "abs" else None
    return before is not None and before.name == "sub" and bool(before.plain)


def _of_mask(op: Op, mask: Value) -> _Counted | None:
    before: Value = mask
    while tensor_of(before) is None and before.by is not None and before.by.name in _SAME_VALUES:
        before = before.by.values[0]
    tensor = tensor_of(before)
    if mask.values or tensor is None or not readable(tensor) or tensor.dim() == 0 or before.count != mask.count:
        return None
    shape = source_of(mask, _SAME_VALUES).shape
    marks = tensor != 0
    is_mask = tensor.dtype == torch.bool or bool((tensor == marks).all())
    return (
        _counted(op, marks.reshape(shape if torch.Size(shape).numel() == before.count else before.shape))
        if is_mask
        else None
    )


def _counted(op: Op, marks: torch.Tensor) -> _Counted | None:
    if marks.dim() == 0 or not marks.numel():
        return None
    rows = marks.reshape(len(marks), -1).sum(1).tolist()
    return _Counted(op, tuple(marks.shape), sum(rows), len(set(rows)) > 1)
