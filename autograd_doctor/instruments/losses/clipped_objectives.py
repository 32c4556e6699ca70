"""Objectives that are clipped so as to be climbed, and go into a loss as they are.

Of a ratio of probabilities times what came of the actions, and the same of the ratio kept near 1, the lower one bounds
from below what is gained. Whoever goes down takes the higher one: the lower one holds nothing back there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

import torch

from autograd_doctor.events.event import Event
from autograd_doctor.events.losses import ObjectiveMinimised
from autograd_doctor.instruments.instrument import Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.loss_query import LossQuery
from autograd_doctor.instruments.spine.optimizers import Optimizers
from autograd_doctor.instruments.spine.tape import Tape
from autograd_doctor.operations import REARRANGEMENTS
from autograd_doctor.reading.places import here
from autograd_doctor.reading.signs import sign_of
from autograd_doctor.reading.tensor_facts import at_home
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.summands import parts_of
from autograd_doctor.tape import Op, Value, source_of

_CHOICES = {"min": 1, "minimum": 1, "fmin": 1, "max": -1, "maximum": -1, "fmax": -1}
"""Choices of one of two, each with the sign with which no loss should have it."""
_MOST_TOLD = 16


class ClippedObjectives(LossQuery):
    """Asks in the first steps that are looked at closely, where no optimizer climbs."""

    emits: ClassVar[tuple[type[Event], ...]] = (ObjectiveMinimised,)

    def __init__(self, site: Site, course: Course, tape: Tape, optimizers: Optimizers) -> None:
        super().__init__(site, course, tape)
        self._optimizers = optimizers
        self._told = 0

    def _ask(self, roots: Sequence[Value], call: BackwardCall) -> None:
        if self._told >= _MOST_TOLD or len(roots) != 1:
            return
        found = [(op, sign) for op, sign in _terms(roots[0]) if sign == _CHOICES[op.name] and _is_clipped(op)]
        if found and not self._may_climb(call):
            for op, sign in found:
                self._told += 1
                self.emit(
                    ObjectiveMinimised(
                        step=self._course.steps,
                        backward=self._course.backwards,
                        location=op.location,
                        higher=sign < 0,
                        backward_at=here(),
                    )
                )

    def _may_climb(self, call: BackwardCall) -> bool:
        seed = next(iter(call.seeds), None)
        if isinstance(seed, torch.Tensor) and sign_of(at_home(seed)) <= 0:
            return True
        return any(group.get("maximize") for _, each in self._optimizers.living() for group in each.param_groups)


def _terms(root: Value) -> Iterator[tuple[Op, int]]:
    """The choices of one of two that are summed up to a loss, each with its sign."""
    for value, sign in parts_of(root):
        if value.by is not None and value.by.name in _CHOICES and len(value.by.live) == 2:
            yield value.by, sign


def _is_clipped(choice: Op) -> bool:
    """Whether one of two is a ratio times data, and the other one the same of a ratio that is kept near 1."""
    products = [each.by for each in choice.live]
    factors = [_factors(op) for op in products if op is not None and op.name == "mul"]
    if len(factors) != 2 or None in factors:
        return False
    (one, weight), (other, same) = (each for each in factors if each is not None)
    return weight is same and (_is_near_one(one, other) or _is_near_one(other, one))


def _factors(product: Op) -> tuple[Value, Value] | None:
    """What learns, and the data that it is multiplied by, whichever sign these were given."""
    live, plain = product.live, product.plain
    return (live[0], source_of(plain[0], REARRANGEMENTS)) if len(live) == len(plain) == 1 else None


def _is_near_one(value: Value, of: Value) -> bool:
    clamp = value.by
    if clamp is None or clamp.name != "clamp" or clamp.operands[0] is not of:
        return False
    low, high = clamp.options.get("min"), clamp.options.get("max")
    return low is not None and high is not None and low < 1 < high
