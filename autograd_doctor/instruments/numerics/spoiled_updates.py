"""Steps that spoil parameters although gradients were finite, or with gradients that the program has spoiled itself."""

from __future__ import annotations

import math
from typing import ClassVar

import torch

from autograd_doctor.events.event import Event
from autograd_doctor.events.numerics import NonFiniteProduced
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.numerics.nonfinite import NonFinite
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.instruments.spine.tensors import Tensors
from autograd_doctor.reading.optimizer_groups import parameters_of
from autograd_doctor.reading.places import here
from autograd_doctor.reading.tensor_facts import bad_rows, describe, is_spoiled, norms
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.optimizers import StepCall


class SpoiledUpdates(Instrument):
    """Looks at gradients before a step, or after each call of its closure, and at parameters around what follows, in
    steps that are looked at closely."""

    emits: ClassVar[tuple[type[Event], ...]] = (NonFiniteProduced,)

    def __init__(
        self,
        site: Site,
        course: Course,
        detail: Detail,
        tensors: Tensors,
        nonfinite: NonFinite,
    ) -> None:
        super().__init__(site)
        self._course = course
        self._tensors = tensors
        self._nonfinite = nonfinite
        self._sound: list[torch.Tensor] = []
        self._said = False

    def connect(self, signals: Signals) -> None:
        self.listen(signals.steps.began, self._began, attention=Attention.CLOSE)
        self.listen(signals.steps.closure_began, self._moved, attention=Attention.LIGHT)
        self.listen(signals.steps.closure_ended, self._closure_ended, attention=Attention.CLOSE)
        self.listen(signals.steps.ended, self._moved, attention=Attention.LIGHT)

    def _began(self, call: StepCall) -> None:
        if not call.closure:
            self._look(call)

    def _closure_ended(self, call: StepCall) -> None:
        self._look(call)

    def _look(self, call: StepCall) -> None:
        """What the optimizer is about to work on: gradients, those of a closure if it was given one, and parameters."""
        self._sound = []
        if self._said:
            return
        held = [parameter for parameter in parameters_of(call.optimizer) if parameter.grad is not None]
        gradients = [parameter.grad for parameter in held if parameter.grad is not None]
        spoiled = _spoiled([*gradients, *held])
        if not spoiled:
            self._sound = held
        elif any(spoiled[0] is gradient for gradient in gradients):
            self._tell_of_gradient(spoiled[0])

    def _tell_of_gradient(self, spoiled: torch.Tensor) -> None:
        """What a backward has spoiled is told of by itself; this is about what the program did to gradients.

        A gradient that was spoiled before any operation came out of a backward like that.
        """
        self._nonfinite.settle()
        made = self._tensors.get(spoiled)
        if made is not None and made.origin is not None and made.origin.operation is not None:
            self._said = True
            self.emit(made.origin.event(self._course.steps, "gradient"))

    def _moved(self, call: StepCall) -> None:
        """The optimizer has moved the parameters: at its end, or before it calls its closure again."""
        sound, self._sound = self._sound, []
        running = self._course.step_of(call.optimizer) if sound else None
        spoiled = _spoiled(sound) if running is not None and not running.skipped else []
        if not spoiled:
            return
        self._said = True
        first = spoiled[0]
        name = self._tensors.describe(first).name
        gradients = [describe(first.grad, name=f"{name}.grad" if name else "")] if first.grad is not None else []
        self.emit(
            NonFiniteProduced(
                step=self._course.steps,
                operation=f"{type(call.optimizer).__name__}.step",
                location=here(),
                output=self._tensors.describe(first),
                operands=gradients,
                rows=bad_rows(first),
                reached="parameter",
            )
        )


def _spoiled(tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    """Those that hold NaN or Inf. The square of a large number overflows, so that norms only tell where to look."""
    suspects = (tensor for tensor, norm in zip(tensors, norms(tensors), strict=True) if not math.isfinite(norm))
    return [tensor for tensor in suspects if is_spoiled(tensor)]
