"""How far steps move the parameters, measured against how large they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import torch

from autograd_doctor.events.event import Event
from autograd_doctor.events.numerics import UpdatesMeasured
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.instruments.spine.late_values import LateValues
from autograd_doctor.instruments.spine.optimizers import Optimizers
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.reading.low_precision import is_low
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.optimizer_groups import parameters_of
from autograd_doctor.reading.spread import copies, differences, root_mean_squares, spread
from autograd_doctor.reading.tensor_facts import dtype_name
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.optimizers import StepCall


class _Shares(NamedTuple):
    """Of the values of a parameter that have a gradient: left as they were by a step, and moved since the first one."""

    still: float
    moved: float


class UpdateSizes(Instrument):
    """Compares some values of each parameter around the steps that are recorded."""

    emits: ClassVar[tuple[type[Event], ...]] = (UpdatesMeasured,)

    def __init__(
        self,
        site: Site,
        course: Course,
        detail: Detail,
        late_values: LateValues,
        parameters: Parameters,
        optimizers: Optimizers,
    ) -> None:
        super().__init__(site)
        self._course = course
        self._late_values = late_values
        self._parameters = parameters
        self._optimizers = optimizers
        self._before: dict[int, list[tuple[torch.Tensor, torch.Tensor]]] = {}
        self._first: IdentityTable[tuple[torch.Tensor, torch.Tensor]] = IdentityTable()

    def connect(self, signals: Signals) -> None:
        self.listen(signals.steps.began, self._began, attention=Attention.FULL)
        self.listen(signals.steps.ended, self._ended, attention=Attention.FULL)

    def _began(self, call: StepCall) -> None:
        """Copy values that the step may change. A step of an optimizer inside its own step belongs to the outer one."""
        number = self._optimizers.known(call.optimizer)
        held = [p for p in parameters_of(call.optimizer) if p.requires_grad and (call.closure or p.grad is not None)]
        some = [(parameter, values) for parameter in held if (values := spread(parameter)) is not None]
        before = copies([values for _, values in some])
        self._before[number] = [(parameter, copy) for (parameter, _), copy in zip(some, before, strict=True)]

    def _ended(self, call: StepCall) -> None:
        number = self._optimizers.known(call.optimizer)
        before = self._before.pop(number, [])
        running = self._course.step_of(call.optimizer)
        if not before or running is None or running.skipped:
            return
        now = [spread(parameter) for parameter, _ in before]
        pairs = zip(before, now, strict=True)
        both = [(p, old, new) for (p, old), new in pairs if new is not None and new.shape == old.shape]
        weights, after = [old for _, old, _ in both], [new for _, _, new in both]
        sizes = root_mean_squares([*weights, *differences(after, weights)])
        low, counts = self._counts(both)
        dtypes = {self._parameters.number(each): dtype_name(each) for each, _, _ in both if is_low(each)}
        step, numbers = self._course.steps, [self._parameters.number(parameter) for parameter, _, _ in both]

        def tell(values: Sequence[Any]) -> None:
            read = len(sizes.norms.parts)
            found, shares = sizes.put_together(values[:read]), _shares(low, values[read:])
            self.emit(
                UpdatesMeasured(
                    step=step,
                    optimizer=number,
                    parameters=numbers,
                    weights=found[: len(numbers)],
                    updates=found[len(numbers) :],
                    still={number: share.still for number, share in shares.items()},
                    arrived={number: share.moved for number, share in shares.items()},
                    dtypes={number: dtypes[number] for number in shares},
                )
            )

        self._late_values.ask(self, [*sizes.norms.parts, *counts], tell, in_place=True)

    def _counts(
        self, both: list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]
    ) -> tuple[list[int], list[torch.Tensor]]:
        """Parameters of 16 bits, and of each how many of its values have a gradient: those that the step left as they
        were, those that have moved since the first one, and all.

        both: each with some of its values, before and after the step.
        """
        low: list[int] = []
        counts: list[torch.Tensor] = []
        for parameter, old, new in both:
            gradient = spread(parameter.grad) if is_low(new) and parameter.grad is not None else None
            if gradient is not None and gradient.shape == new.shape:
                low.append(self._parameters.number(parameter))
                pushed, moved = gradient != 0, self._moved(parameter, old, new)
                counts.append(torch.stack([(pushed & (old == new)).sum(), (pushed & moved).sum(), pushed.sum()]))
        return low, counts

    def _moved(self, parameter: torch.Tensor, old: torch.Tensor, new: torch.Tensor) -> torch.Tensor:
        """Which values have been seen to differ from what they were when they were measured first."""
        first, moved = self._first.get(parameter) or (old, torch.zeros_like(old, dtype=torch.bool))
        if first.shape != new.shape:
            first, moved = old, torch.zeros_like(old, dtype=torch.bool)
        moved = moved | (new != first)
        self._first.put(parameter, (first, moved))
        return moved


def _shares(low: list[int], counts: Sequence[torch.Tensor]) -> dict[int, _Shares]:
    pairs = zip(low, (each.tolist() for each in counts), strict=True)
    return {number: _Shares(still / pushed, moved / pushed) for number, (still, moved, pushed) in pairs if pushed}
