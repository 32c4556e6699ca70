"""Steps that spoil parameters although gradients were finite, or with gradients that the program has spoiled itself."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch

from autograd_doctor.events.event import Event
from autograd_doctor.events.numerics import NonFiniteProduced
from autograd_doctor.findings import Location
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.numerics.nonfinite import NonFinite
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.instruments.spine.late_losses import KnownLoss, LateLosses
from autograd_doctor.instruments.spine.late_values import LateValues
from autograd_doctor.instruments.spine.tensors import Tensors
from autograd_doctor.reading.optimizer_groups import parameters_of
from autograd_doctor.reading.places import here
from autograd_doctor.reading.provenance import Provenance
from autograd_doctor.reading.tensor_facts import bad_rows, describe, largest_to_come
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.optimizers import StepCall


@dataclass(eq=False, slots=True)
class _Met:
    """What an optimizer works on. made: of each gradient, how it was made. is_sound: whether nothing of it is spoiled,
    as soon as that is known."""

    held: list[torch.Tensor]
    made: list[Provenance | None]
    is_sound: bool | None = None


class SpoiledUpdates(Instrument):
    """Looks at gradients before a step, or after each call of its closure, and at parameters around what follows, in
    steps that are looked at closely."""

    emits: ClassVar[tuple[type[Event], ...]] = (NonFiniteProduced,)

    def __init__(
        self,
        site: Site,
        course: Course,
        late_values: LateValues,
        late_losses: LateLosses,
        detail: Detail,
        tensors: Tensors,
        nonfinite: NonFinite,
    ) -> None:
        super().__init__(site)
        self._course = course
        self._late_values = late_values
        self._late_losses = late_losses
        self._tensors = tensors
        self._nonfinite = nonfinite
        self._met: _Met | None = None
        self._said = False
        self._lost_in = -1
        """The last step one of whose losses was not finite."""

    def connect(self, signals: Signals) -> None:
        self.listen(signals.steps.began, self._began, attention=Attention.CLOSE)
        self.listen(signals.steps.closure_began, self._moved, attention=Attention.LIGHT)
        self.listen(signals.steps.closure_ended, self._closure_ended, attention=Attention.CLOSE)
        self.listen(signals.steps.ended, self._moved, attention=Attention.LIGHT)
        self.listen(self._late_losses.known, self._loss_known)

    def _loss_known(self, loss: KnownLoss) -> None:
        if not math.isfinite(loss.value):
            self._lost_in = loss.step

    def _began(self, call: StepCall) -> None:
        if not call.closure:
            self._look(call)

    def _closure_ended(self, call: StepCall) -> None:
        self._look(call)

    def _look(self, call: StepCall) -> None:
        """What the optimizer is about to work on: gradients, those of a closure if it was given one, and parameters."""
        self._met = None
        if self._said:
            return
        held = [parameter for parameter in parameters_of(call.optimizer) if parameter.grad is not None]
        gradients = [parameter.grad for parameter in held if parameter.grad is not None]
        self._met = met = _Met(held, [self._tensors.get(gradient) for gradient in gradients])
        sizes, step = largest_to_come([*gradients, *held]), self._course.steps

        def known(values: Sequence[float]) -> None:
            spoiled = [not math.isfinite(size) for size in sizes.put_together(values)]
            met.is_sound = not any(spoiled)
            if True in spoiled[: len(gradients)]:
                self._tell_of_gradient(met.made[spoiled.index(True)], step)

        self._late_values.ask(self, sizes.parts, known, in_place=True)

    def _tell_of_gradient(self, made: Provenance | None, step: int) -> None:
        """What a backward has spoiled is told of by itself; this is about what the program did to gradients.

        A gradient that was spoiled before any operation came out of a backward like that, as do all of a loss that was
        not finite, whatever changed them in place afterwards.
        """
        if step == self._lost_in:
            return
        self._nonfinite.settle()
        if not self._said and made is not None and made.origin is not None and made.origin.operation is not None:
            self._said = True
            self.emit(made.origin.event(step, "gradient"))

    def _moved(self, call: StepCall) -> None:
        """The optimizer has moved the parameters: at its end, or before it calls its closure again."""
        met, self._met = self._met, None
        running = self._course.step_of(call.optimizer) if met is not None and met.is_sound is not False else None
        if met is None or running is None or running.skipped:
            return
        held, sizes = met.held, largest_to_come(met.held)
        step, where, operation = self._course.steps, here(), f"{type(call.optimizer).__name__}.step"

        def known(values: Sequence[float]) -> None:
            spoiled = [
                each for each, size in zip(held, sizes.put_together(values), strict=True) if not math.isfinite(size)
            ]
            if met.is_sound and spoiled and not self._said:
                self._said = True
                self._tell(spoiled[0], step, where, operation)

        self._late_values.ask(self, sizes.parts, known, in_place=True)

    def _tell(self, parameter: torch.Tensor, step: int, where: Location | None, operation: str) -> None:
        """What is known some time later: the parameter is still spoiled, its gradient may be gone."""
        facts, gradient = self._tensors.describe(parameter), parameter.grad
        name = f"{facts.name}.grad" if facts.name else ""
        self.emit(
            NonFiniteProduced(
                step=step,
                operation=operation,
                location=where,
                output=facts,
                operands=[describe(gradient, name=name)] if gradient is not None else [],
                rows=bad_rows(parameter),
                reached="parameter",
            )
        )
