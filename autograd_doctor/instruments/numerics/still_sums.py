"""Numbers that the program counts up in a tensor, and that have grown too large for what is added to them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch

from autograd_doctor.events.event import Event
from autograd_doctor.events.numerics import SumStoodStill
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.operations import ADDITIONS, DIFFERENCES
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.tensor_facts import at_home, dtype_name, readable
from autograd_doctor.reading.variable_names import variable_name
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.operations import Operation

_MOST_PLACES = 64
_MOST_STEPS = 4
_FADED = 1e-3
"""Of the largest that a line has added: what is smaller fades away, as the steps of an average that has converged."""


@dataclass(slots=True)
class _Sum:
    """What a line counts up.

    results: the newest; told: the steps for which it was said to stand still; largest: of what was added so far;
    compared: the program itself takes the difference of two of them, as a sum does that is compensated (Kahan, 1965).
    """

    results: IdentityTable[None] = field(default_factory=IdentityTable)
    told: set[int] = field(default_factory=set)
    largest: float = 0.0
    compared: bool = False


class StillSums(Instrument):
    """Looks at single numbers without a graph to which a line adds what it has added to before."""

    emits: ClassVar[tuple[type[Event], ...]] = (SumStoodStill,)

    def __init__(self, site: Site, course: Course) -> None:
        super().__init__(site)
        self._course = course
        self._sums: dict[Place | None, _Sum] = {}

    def connect(self, signals: Signals) -> None:
        self.listen(signals.operations.ended, self._added, attention=Attention.FULL, names=ADDITIONS)
        self.listen(signals.operations.ended, self._subtracted, attention=Attention.FULL, names=DIFFERENCES)

    def _subtracted(self, operation: Operation) -> None:
        for known in self._sums.values():
            known.compared |= len(operation.inputs) == 2 and all(each in known.results for each in operation.inputs)

    def _added(self, operation: Operation) -> None:
        result = operation.result
        if not isinstance(result, torch.Tensor) or result.numel() != 1 or not _is_counted(result):
            return
        known = self._sums.get(operation.place)
        if known is None:
            if len(self._sums) >= _MOST_PLACES:
                return
            known = self._sums[operation.place] = _Sum()
        goes_on = any(argument in known.results for argument in operation.args)
        known.results.put(result, None)
        step = self._course.steps
        if not goes_on or known.compared or step in known.told or len(known.told) >= _MOST_STEPS:
            return
        added = _number(next((each for each in operation.args if each not in known.results), None))
        if not added or not math.isfinite(added):
            return
        known.largest = max(known.largest, abs(added))
        total = at_home(result)
        if (
            abs(added) > _FADED * known.largest
            and bool((total + added == total).all())
            and bool(total.isfinite().all())
        ):
            known.told.add(step)
            self.emit(
                SumStoodStill(
                    step=step,
                    location=locate(operation.place),
                    name=variable_name(result),
                    dtype=dtype_name(result),
                    value=float(total),
                    added=added,
                )
            )


def _is_counted(tensor: torch.Tensor) -> bool:
    return tensor.is_floating_point() and not tensor.requires_grad and readable(tensor)


def _number(value: Any) -> float | None:
    if isinstance(value, torch.Tensor):
        return float(value) if value.numel() == 1 and not value.is_complex() else None
    return float(value) if isinstance(value, int | float) else None
