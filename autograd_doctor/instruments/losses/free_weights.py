"""Learned weights of the terms of a loss that nothing keeps from vanishing."""

from __future__ import annotations

from collections import Counter
from typing import ClassVar

import torch

from autograd_doctor.events.event import Event
from autograd_doctor.events.losses import FreeWeight
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.ledger import Ledger
from autograd_doctor.instruments.spine.optimizers import Optimizers
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.reading.free_factors import free_factors
from autograd_doctor.reading.places import locate
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall

_MOST_TOLD = 40
"""Of a parameter: it takes some steps until it is seen where it goes."""


class FreeWeights(Instrument):
    """Reads the graphs of losses in steps that are looked at closely.

    A parameter that an optimizer holds which climbs is not looked at: that one makes the terms larger.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (FreeWeight,)

    def __init__(
        self, site: Site, course: Course, parameters: Parameters, optimizers: Optimizers, ledger: Ledger
    ) -> None:
        super().__init__(site)
        self._course = course
        self._parameters = parameters
        self._optimizers = optimizers
        self._ledger = ledger
        self._told: Counter[int] = Counter()

    def connect(self, signals: Signals) -> None:
        self.listen(signals.backward.began, self._backward_began, attention=Attention.CLOSE)

    def _backward_began(self, call: BackwardCall) -> None:
        walk = self._ledger.walk
        if call.kind != "backward" or walk is None or len(call.roots) != 1 or call.roots[0].numel() != 1:
            return
        for factor in free_factors(walk, call.roots[0]):
            number = self._parameters.get(factor.parameter)
            if number is None or self._told[number] >= _MOST_TOLD or self._climbs(factor.parameter):
                continue
            self._told[number] += 1
            self.emit(
                FreeWeight(
                    step=self._course.steps,
                    backward=walk.backward,
                    parameter=number,
                    sizes=factor.sizes,
                    location=locate(factor.place),
                )
            )

    def _climbs(self, parameter: torch.Tensor) -> bool:
        return any(
            group.get("maximize") is True and any(each is parameter for each in group["params"])
            for _, optimizer in self._optimizers.living()
            for group in optimizer.param_groups
        )
