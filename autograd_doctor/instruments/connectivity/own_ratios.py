"""Ratios in a loss of what a policy gives to what the same parameters gave in the same step, for actions of before.

The ratio of the probability of an action to that with which it was drawn corrects for what the policy has learned
since. In the first update after the draw it is 1. What is computed anew in each update is 1 in all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, Literal, NamedTuple

import torch

from autograd_doctor.events.connectivity import RatioOfItself
from autograd_doctor.events.event import Event
from autograd_doctor.findings import Location
from autograd_doctor.instruments.connectivity.data_used_before import DataUsedBefore
from autograd_doctor.instruments.instrument import Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.instruments.spine.lineage import Lineage
from autograd_doctor.instruments.spine.loss_query import LossQuery
from autograd_doctor.instruments.spine.tape import Tape
from autograd_doctor.operations import MOVES, PRODUCTS
from autograd_doctor.reading.live_values import tensor_of
from autograd_doctor.reading.tensor_facts import readable
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.signals.operations import Operation
from autograd_doctor.tape import GRAD, Op, Value, behind, numbers_in

_ROUNDING = 1e-5
"""Of log-probabilities that were computed in batches of other sizes."""
_LEAST = 8
"""Numbers of a side."""
_TOLD = 4
"""Steps, for each line."""
_ASKED, _ASKED_OF_NEW = 40, 8
"""Steps to be looked at closely for the sake of ratios that may be of this kind: as many as a pass over the samples of
a rollout takes; fewer where all samples are new in each of them."""
_BEFORE_EXP = MOVES | {"clamp", "div", "masked_fill", "mean", "mul", "nan_to_num", "sum", "where"}
"""What a difference of log-probabilities may go through, as where those of a sequence are added up."""

_BOUNDS = MOVES | {"clamp"}
_KEEPS = _BOUNDS | {"max", "maximum", "mean", "min", "minimum", "neg", "sum"}
_Stage = Literal["logarithm", "ratio", "term"]


class _Ratio(NamedTuple):
    """clipped: it is kept in a range. weights: what it is multiplied by."""

    clipped: bool
    weights: list[Value]


class OwnRatios(LossQuery):
    """Reads differences and quotients as they are made, and asks of those that weigh data behind the loss.

    One that is computed of a detached copy of itself is no fault but where it is clipped: estimators of derivatives
    are written so. Lines at which any ratio was another one in any step are left out, and so are ratios that are
    multiplied by another one.

    A pass over the samples of a rollout may take many steps. Until it has begun anew, the next step is looked at
    closely, too, so many times.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (RatioOfItself,)

    def __init__(self, site: Site, course: Course, tape: Tape, detail: Detail, lineage: Lineage) -> None:
        super().__init__(site, course, tape)
        self._lineage = lineage
        self._detail = detail
        self._is_own: dict[Op, bool] = {}
        self._data = DataUsedBefore(self.value_table(), self.value_table())
        self._told: dict[Location | None, set[int]] = {}
        self._others: set[Location | None] = set()
        self._asked = 0

    def connect(self, signals: Signals) -> None:
        super().connect(signals)
        self.listen(self._tape.recorded, self._compared, names=frozenset({"div", "sub"}))
        self.listen(self._lineage.operated, self._picked, names=frozenset({"__getitem__"}))
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.CLOSE)
        self.listen(self._detail.focused, self._step_taken)

    def _step_taken(self, _: object) -> None:
        self._is_own.clear()
        self._data.forget_picks()

    def _picked(self, operation: Operation) -> None:
        if isinstance(operation.result, torch.Tensor) and any(map(_is_foreign, _indices(operation))):
            self._data.picked_unseen(operation.result)

    def _compared(self, op: Op) -> None:
        if len(op.values) != 2 or len(op.operands) != 2:
            return
        one, other = op.values
        if one.shape == other.shape and one.count >= _LEAST and one.is_floating and not (one.learns and other.learns):
            is_open = op.location not in self._others and one.values == other.values != 0
            self._is_own[op] = is_open and _is_nothing(op) and all(map(_is_of_this_step, op.values))

    def _ask(self, roots: Sequence[Value], call: BackwardCall) -> None:
        found = {op: ratio for op in self._is_own if (ratio := ratio_of(op)) is not None}
        others = {op for op in found if not self._is_own[op]}
        for op in others:
            self._met_other(op)
        own = [op for op in found if self._is_own[op] and op.location not in self._others]
        ways = set(behind(roots, live=False)) if own else set()
        if any(op.name == GRAD for op in ways):
            return
        for op in own:
            if op in ways and self._may_correct(op, found[op], others):
                self._suspect(op)

    def _met_other(self, op: Op) -> None:
        if op.location not in self._others:
            self._others.add(op.location)
            if op.location in self._told:
                self._emit(op, own=False)

    def _may_correct(self, op: Op, ratio: _Ratio, others: set[Op]) -> bool:
        """Whether it is there to correct something, and nothing else does."""
        if _is_detached(op) and not ratio.clipped:
            return False
        policy = op.values[0].values
        beside = others.intersection(behind(ratio.weights, live=False))
        return not any(side.values == policy for other in beside for side in other.values)

    def _suspect(self, op: Op) -> None:
        """Tell of it, or look on: data that are new will be old in the next step, or other ones will be new then."""
        told = self._told.get(op.location, set())
        if len(told) >= _TOLD or self._course.steps in told:
            return
        age = self._data.age_of(op.values[0], self._course.steps)
        if age == "old":
            self._told.setdefault(op.location, told).add(self._course.steps)
            self._emit(op, own=True)
        if self._asked < (_ASKED_OF_NEW if age == "new" else _ASKED):
            self._asked += 1
            self._detail.ask()

    def _emit(self, op: Op, *, own: bool) -> None:
        reference = op.values[1]
        self.emit(
            RatioOfItself(
                step=self._course.steps,
                location=op.location,
                reference_at=reference.by.location if reference.by is not None else None,
                parameters=numbers_in(reference.values),
                own=own,
            )
        )


def _indices(operation: Operation) -> tuple[object, ...]:
    index = operation.args[1]
    return index if type(index) is tuple else (index,)


def _is_foreign(index: object) -> bool:
    """Whether it may hold actions that no tensor holds, as a list or an array of NumPy."""
    return not (index is None or index is Ellipsis or isinstance(index, torch.Tensor | slice | int))


def _is_nothing(op: Op) -> bool:
    """Whether a difference is 0 in all elements, or a quotient 1."""
    result = tensor_of(op.output)
    if result is None or not readable(result):
        return False
    apart = result.detach() - 1 if op.name == "div" else result.detach()
    return bool(apart.abs().max() <= _ROUNDING)


def ratio_of(op: Op) -> _Ratio | None:
    """What becomes of a difference of log-probabilities, or a quotient of probabilities, if it weighs data."""
    if not op.outputs:  # it was dropped to make room
        return None
    first: _Stage = "ratio" if op.name == "div" else "logarithm"
    pending, met, weights, clipped = [(op.output, first)], set[Value](), list[Value](), False
    while pending:
        value, stage = pending.pop()
        if value in met:
            continue
        met.add(value)
        for use in value.uses:
            following = _stage_after(stage, use, value)
            if following is not None:
                clipped |= following == "ratio" and use.name == "clamp"
                weights += [each for each in use.values if following == "term" and use.name in PRODUCTS]
                pending += [(each, following) for each in use.outputs]
    weights = [each for each in weights if each not in met and each.count > 1]
    return _Ratio(clipped, weights) if weights else None


def _stage_after(stage: _Stage, use: Op, value: Value) -> _Stage | None:
    """What an operation makes of a value; None where it is followed no further."""
    if stage == "logarithm":
        if use.operands[:1] != (value,):
            return None
        return "ratio" if use.name == "exp" else stage if use.name in _BEFORE_EXP else None
    if use.name in PRODUCTS:
        return "term"
    return stage if use.name in (_KEEPS if stage == "term" else _BOUNDS) else None


def _computed_by_policy(value: Value) -> list[Op]:
    """The operations of a way through the policy, from its inputs and actions to log-probabilities."""
    return [op for op in behind([value], live=False) if any(output.values for output in op.outputs)]


def _is_of_this_step(value: Value) -> bool:
    """Whether a policy was called for it, rather than something taken out of what is kept."""
    return any(each.is_parameter for op in _computed_by_policy(value) for each in op.values)


def _is_detached(op: Op) -> bool:
    """Whether both sides came out of one forward, of which one side keeps the graph."""
    one, other = (set(_computed_by_policy(side)) for side in op.values)
    return any(_learns(each.outputs) for each in one & other)


def _learns(values: Iterable[Value]) -> bool:
    return any(value.learns for value in values)
