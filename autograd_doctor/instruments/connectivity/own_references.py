"""Differences in a loss between what a model gives and what the same parameters gave in a forward without gradients.

And its terms that compare a result with itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence, Set
from typing import ClassVar

import torch

from autograd_doctor.events.connectivity import ReferenceCompared
from autograd_doctor.events.event import Event
from autograd_doctor.findings import Location
from autograd_doctor.instruments.instrument import Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.loss_query import LossQuery
from autograd_doctor.instruments.spine.tape import Tape
from autograd_doctor.operations import BY_DIFFERENCE, SCALING
from autograd_doctor.reading.live_values import tensor_of
from autograd_doctor.reading.looks import Looks
from autograd_doctor.reading.tensor_facts import readable
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.tape import Op, Value, behind, numbers_in, terms_behind

_COMPARES = BY_DIFFERENCE | {"kl_div"}
_ROUNDING = 1e-5
"""Of a probability, whose logarithm was taken in one way and in another."""
_TOLD = 4
"""Steps in which both sides were equal, for each line; looked at are all until they differ, as they do once an
augmentation has grown, or what was frozen for a while learns again."""
_OF_UPDATES = frozenset({"clamp", "exp"})
"""What is made of a difference that grows with the updates on one batch: a ratio, or a change that is bounded."""
_LEAST = 8
"""Numbers of a side, to say that it compares results."""
_REWRITTEN = SCALING | {
    "clone", "contiguous", "detach", "exp", "flatten", "float", "log", "log_softmax", "reshape", "sigmoid", "softmax",
    "to", "view",
}  # fmt: skip
"""What says the same in other words, where nothing else is an operand: not what bounds or turns, as a penalty on what
leaves a range does, or on what is not symmetric."""


class OwnReferences(LossQuery):
    """Reads, as they are made, differences whose sides hold values of the very same parameters, and asks of those that
    lie behind the loss.

    A ratio is left out, and a change that is bounded: those of before and after updates are 1 and 0 in the first of
    them. So is what was cut off from the other side, by which estimators hide values from a derivative, and what more
    than parameters learn by, as a disturbance of the input that is sought.

    A result is compared with itself where both sides of a loss are made of one tensor, or where a term holds a
    difference of what the same parameters gave twice without gradients. Lines that compare other things as well, as
    those that go through layers of which one is shared, are left out.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (ReferenceCompared,)

    def __init__(self, site: Site, course: Course, tape: Tape) -> None:
        super().__init__(site, course, tape)
        self._equal: dict[Op, bool] = {}
        self._itself: dict[Op, bool] = {}
        self._looks: Looks[Location | None] = Looks()
        self._told: Counter[Location | None] = Counter()
        self._differ: set[Location | None] = set()
        self._compares_others: set[Location | None] = set()

    def connect(self, signals: Signals) -> None:
        super().connect(signals)
        self.listen(self._tape.recorded, self._compared, names=_COMPARES)
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.CLOSE)

    def _step_taken(self, course: Course) -> None:
        self._looks.step_taken()
        self._equal.clear()
        self._itself.clear()

    def _compared(self, op: Op) -> None:
        result = tensor_of(op.output)
        if op.location in self._differ or result is None or not readable(result):
            return
        if _is_of_one_model(op):
            self._met_others(op)
            if self._looks.take(op.location):
                self._equal[op] = _are_alike(op) if op.name == "kl_div" else not bool(result.detach().any())
        elif not _compares_with_itself(op):
            self._met_others(op)
        elif op.location not in self._compares_others and self._looks.take(op.location):
            self._itself[op] = _are_alike(op) if op.name == "kl_div" else _hardly_differ(op)

    def _met_others(self, op: Op) -> None:
        """A line that compares other things, now or from now on, compared nothing with itself on the whole."""
        if op.location not in self._compares_others:
            self._compares_others.add(op.location)
            if self._told[op.location]:
                self._emit(op, equal=False, itself=True)

    def _ask(self, roots: Sequence[Value], call: BackwardCall) -> None:
        if self._equal:
            found = (op for op in behind(roots) if op in self._equal and _is_used(op, roots))
            self._tell(found, self._equal, itself=False)
        if self._itself:
            found = (op for op in terms_behind(roots) if op in self._itself)
            self._tell((op for op in found if op.location not in self._compares_others), self._itself, itself=True)

    def _tell(self, found: Iterable[Op], equal: dict[Op, bool], *, itself: bool) -> None:
        lines: dict[Location | None, list[Op]] = {}
        for op in found:
            lines.setdefault(op.location, []).append(op)
        for location, ops in lines.items():
            are_equal = all(equal[op] for op in ops)
            self._told[location] += 1
            if not are_equal:
                self._differ.add(location)
            elif self._told[location] > _TOLD:
                continue
            self._emit(ops[0], equal=are_equal, itself=itself)

    def _emit(self, op: Op, *, equal: bool, itself: bool) -> None:
        reference = op.values[-1] if itself else op.plain[0]
        self.emit(
            ReferenceCompared(
                step=self._course.steps,
                location=op.location,
                reference_at=reference.by.location if reference.by is not None else None,
                parameters=numbers_in(reference.values),
                equal=equal,
                itself=itself,
            )
        )


def _is_used(op: Op, roots: Sequence[Value]) -> bool:
    """Whether more is made of a difference than a ratio or a bounded change."""
    return op.output in roots or any(use.name not in _OF_UPDATES for use in op.output.uses)


def _is_of_one_model(op: Op) -> bool:
    """Whether one side learns, and the other was computed from the same parameters, on a way of its own."""
    if len(op.live) != 1 or len(op.plain) != 1:
        return False
    (live,), (plain,) = op.live, op.plain
    if live.shape != plain.shape or not plain.is_floating or not plain.values or plain.values != live.values:
        return False
    ways = set(behind([live]))
    return _learn_by_parameters(ways) and not ways & set(behind([plain], live=False))


def _learn_by_parameters(ways: Set[Op]) -> bool:
    """Whether no operation has a gradient for the sake of something else."""
    return all(any(value.learns or value.is_parameter for value in way.values) for way in ways)


def _compares_with_itself(op: Op) -> bool:
    """Whether both sides are made of one tensor, or neither learns and both come from the same parameters.

    A bare difference of one tensor from itself is a way to write a zero with a gradient. Weights that are frozen for a
    while are as they were: neither they nor their copies were computed.
    """
    sides = op.operands[:2]
    if len(sides) != 2 or len(op.values) != 2 or not all(side.is_floating and side.values for side in op.values):
        return False
    one, other = op.values
    if one.shape != other.shape or one.count < _LEAST:
        return False
    origins = {_origin(one), _origin(other)}
    if not (one.learns or other.learns):
        return one.values == other.values and (len(origins) == 1 or all(each.by is not None for each in origins))
    return op.name != "sub" and len(origins) == 1


def _origin(value: Value) -> Value:
    """The tensor that a value says the same as, in other words."""
    while value.by is not None and value.by.name in _REWRITTEN and len(value.by.values) == 1:
        value = value.by.values[0]
    return value


def _are_alike(op: Op) -> bool:
    """Whether the two distributions of a KL divergence are the same."""
    given, wanted = map(tensor_of, op.values[:2])
    if given is None or wanted is None or (op.live and op.operands[0] is not op.live[0]):
        return False
    probabilities = wanted.exp() if op.options.get("log_target") else wanted
    return torch.allclose(given.detach().exp(), probabilities.detach(), rtol=_ROUNDING, atol=_ROUNDING)


def _hardly_differ(op: Op) -> bool:
    """Whether two sides, which hold different numbers, hold the same."""
    one, other = map(tensor_of, op.values[:2])
    if one is None or other is None:
        return False
    low, high = torch.aminmax(one.detach())
    apart = (one.detach() - other.detach()).abs().max()
    return bool((high > low) & (apart <= _ROUNDING * (high - low)))
