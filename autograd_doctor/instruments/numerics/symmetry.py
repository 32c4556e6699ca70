"""Layers whose units are copies of one another, and stay so."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import ClassVar

import torch

from autograd_doctor.events.event import Event
from autograd_doctor.events.numerics import UnitsAlike
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.lineage import Lineage
from autograd_doctor.instruments.spine.optimizers import Optimizers
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.reading.optimizer_groups import parameters_of
from autograd_doctor.reading.places import locate
from autograd_doctor.reading.tensor_facts import readable
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
        self, site: Site, course: Course, parameters: Parameters, optimizers: Optimizers, lineage: Lineage
    ) -> None:
        super().__init__(site)
        self._course = course
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
        if self._suspects[number]:
            self._suspects[number] = [suspect for suspect in self._suspects[number] if self._stays_alike(suspect)]

    def _stays_alike(self, suspect: _Suspect) -> bool:
        """Whether it is to be followed further."""
        weight = suspect.weight()
        if weight is None or not _rows_are_equal(weight):
            return False
        gradient = weight.grad
        if gradient is None:
            return True
        if not readable(gradient) or not _rows_are_equal(gradient):
            return False
        suspect.steps += bool(gradient.any())
        if suspect.steps < _LOOKS:
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


def _rows_are_equal(values: torch.Tensor) -> bool:
    """Up to rounding, which depends on where in a matrix a number is computed. The first two tell for nearly all."""
    rows = values.detach()
    most = _ROUNDING * float(rows[0].abs().max())
    return float((rows[0] - rows[1]).abs().max()) <= most and float((rows - rows[:1]).abs().max()) <= most
