"""Layers whose units are copies of one another, and stay so."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch

from autograd_doctor.events.event import Event
from autograd_doctor.events.numerics import UnitsAlike
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.late_values import LateValues
from autograd_doctor.instruments.spine.lineage import Lineage
from autograd_doctor.instruments.spine.optimizers import Optimizers
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.reading.optimizer_groups import parameters_of
from autograd_doctor.reading.places import locate
from autograd_doctor.reading.tensor_facts import read_together, readable
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.optimizers import StepCall

_LOOKS = 4
"""Steps with a gradient after which equal units count as equal for good: only rounding would tell them apart."""
_ROUNDING = 1e-4
"""Relative. Sums of a few thousand products in float32 differ by 1e-5 when they are added in another order."""


@dataclass(eq=False)
class _Suspect:
    """A weight whose rows are equal, with the steps in which gradients that are not zero found them so."""

    weight: weakref.ref[torch.Tensor]
    steps: int = 0


class Symmetry(Instrument):
    """Follows the weights whose rows begin equal; nearly no program has any, so that one look is all that it costs."""

    emits: ClassVar[tuple[type[Event], ...]] = (UnitsAlike,)

    def __init__(
        self,
        site: Site,
        course: Course,
        late_values: LateValues,
        parameters: Parameters,
        optimizers: Optimizers,
        lineage: Lineage,
    ) -> None:
        super().__init__(site)
        self._course = course
        self._late_values = late_values
        self._parameters = parameters
        self._optimizers = optimizers
        self._lineage = lineage
        self._suspects: dict[int, list[_Suspect]] = {}

    def connect(self, signals: Signals) -> None:
        self.listen(signals.steps.began, self._began, attention=Attention.FULL)

    def _began(self, call: StepCall) -> None:
        number = self._optimizers.known(call.optimizer)
        if number not in self._suspects:
            held = parameters_of(call.optimizer)
            self._suspects[number] = [_Suspect(weakref.ref(weight)) for weight in held if _is_matrix(weight)]
        living = [(suspect, weight) for suspect in self._suspects[number] if (weight := suspect.weight()) is not None]
        looks = [_look(weight, rows=weight.shape[0] if suspect.steps else 2) for suspect, weight in living]
        suspects = [suspect for suspect, _ in living]

        def known(values: Sequence[torch.Tensor]) -> None:
            pairs = zip(suspects, read_together(values), strict=True)
            self._suspects[number] = [each for each, found in pairs if self._stays_alike(each, *found)]

        self._late_values.ask(self, looks, known, in_place=True)

    def _stays_alike(self, suspect: _Suspect, is_alike: bool, taught_alike: bool, is_taught: bool) -> bool:
        """Whether it is to be followed further."""
        if not (is_alike and taught_alike):
            return False
        suspect.steps += is_taught
        weight = suspect.weight()
        if suspect.steps < _LOOKS or weight is None:
            return True
        self._tell(weight)
        return False

    def _tell(self, weight: torch.Tensor) -> None:
        number = self._parameters.number(weight)
        self.emit(
            UnitsAlike(
                step=self._course.steps,
                parameter=number,
                units=weight.shape[0],
                updates=_LOOKS - 1,
                filled_at=locate(self._lineage.filled.get(number)),
            )
        )


def _is_matrix(weight: torch.Tensor) -> bool:
    """Whether a parameter is the weight of several units, each of which has several entries."""
    return weight.dim() > 1 and weight.shape[0] > 1 and weight.numel() > weight.shape[0] and readable(weight)


def _look(weight: torch.Tensor, rows: int) -> torch.Tensor:
    """Whether the first rows of a weight are equal, those of its gradient, and whether that is anything but zero.

    Of nearly all weights two rows tell.
    """
    gradient = weight.grad
    if gradient is None or not readable(gradient):
        told = torch.tensor([gradient is None, False], device="cpu").to(weight.device, non_blocking=True)
        return torch.cat([_rows_are_equal(weight[:rows]).reshape(1), told])
    taught = gradient.any()
    return torch.stack([_rows_are_equal(weight[:rows]), _rows_are_equal(gradient[:rows]), taught])


def _rows_are_equal(values: torch.Tensor) -> torch.Tensor:
    """Up to rounding, which depends on where in a matrix a number is computed: a truth value, left where they lie."""
    rows = values.detach()
    return (rows - rows[:1]).abs().max() <= _ROUNDING * rows[0].abs().max()
