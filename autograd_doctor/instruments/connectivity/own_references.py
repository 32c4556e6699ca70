"""Differences in a loss between what a model gives and what the same parameters gave in a forward without gradients."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence, Set
from typing import ClassVar

import torch

from autograd_doctor.events.connectivity import ReferenceCompared
from autograd_doctor.events.event import Event
from autograd_doctor.findings import Location
from autograd_doctor.instruments.instrument import Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.loss_query import LossQuery
from autograd_doctor.instruments.spine.tape import Tape
from autograd_doctor.operations import BY_DIFFERENCE
from autograd_doctor.reading.live_values import tensor_of
from autograd_doctor.reading.looks import Looks
from autograd_doctor.reading.tensor_facts import readable
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.tape import Op, Value, behind, numbers_in

_COMPARES = BY_DIFFERENCE | {"kl_div"}
_ROUNDING = 1e-5
"""Of a probability, whose logarithm was taken in one way and in another."""
_TOLD = 4
"""Steps in which both sides were equal, for each line; looked at are all until they differ, as they do once an
augmentation has grown, or what was frozen for a while learns again."""
_OF_UPDATES = frozenset({"clamp", "exp"})
"""What is made of a difference that grows with the updates on one batch: a ratio, or a change that is bounded."""


class OwnReferences(LossQuery):
    """Reads, as they are made, differences whose sides hold values of the very same parameters, and asks of those that
    lie behind the loss.

    A ratio is left out, and a change that is bounded: those of before and after updates are 1 and 0 in the first of
    them. So is what was cut off from the other side, by which estimators hide values from a derivative, and what more
    than parameters learn by, as a disturbance of the input that is sought.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (ReferenceCompared,)

    def __init__(self, site: Site, course: Course, tape: Tape) -> None:
        super().__init__(site, course, tape)
        self._equal: dict[Op, bool] = {}
        self._looks: Looks[Location | None] = Looks()
        self._told: Counter[Location | None] = Counter()
        self._differ: set[Location | None] = set()

    def connect(self, signals: Signals) -> None:
        super().connect(signals)
        self.listen(self._tape.recorded, self._compared, names=_COMPARES)
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.CLOSE)

    def _step_taken(self, course: Course) -> None:
        self._looks.step_taken()
        self._equal.clear()

    def _compared(self, op: Op) -> None:
        result = tensor_of(op.output)
        if op.location in self._differ or result is None or not readable(result) or not _is_of_one_model(op):
            return
        if not self._looks.take(op.location):
            return
        self._equal[op] = _are_alike(op) if op.name == "kl_div" else not bool(result.detach().any())

    def _ask(self, roots: Sequence[Value], call: BackwardCall) -> None:
        lines: dict[Location | None, list[Op]] = {}
        for op in behind(roots) if self._equal else ():
            if op in self._equal and (op.output in roots or any(use.name not in _OF_UPDATES for use in op.output.uses)):
                lines.setdefault(op.location, []).append(op)
        for location, ops in lines.items():
            are_equal = all(self._equal[op] for op in ops)
            self._told[location] += 1
            if not are_equal:
                self._differ.add(location)
            elif self._told[location] > _TOLD:
                continue
            (reference,) = ops[0].plain
            self.emit(
                ReferenceCompared(
                    step=self._course.steps,
                    location=location,
                    reference_at=reference.by.location if reference.by is not None else None,
                    parameters=numbers_in(reference.values),
                    equal=are_equal,
                )
            )


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


def _are_alike(op: Op) -> bool:
    """Whether the two distributions of a KL divergence are the same."""
    given, wanted = tensor_of(op.live[0]), tensor_of(op.plain[0])
    if given is None or wanted is None or op.operands[0] is not op.live[0]:
        return False
    probabilities = wanted.exp() if op.options.get("log_target") else wanted
    return torch.allclose(given.detach().exp(), probabilities, rtol=_ROUNDING, atol=_ROUNDING)
