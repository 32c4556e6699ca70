"""The clipping of gradients: what it met, and how far they were scaled then."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import torch
from msgspec.structs import replace

from autograd_doctor.events.cycle import GradientsClipped
from autograd_doctor.events.event import Event
from autograd_doctor.findings import Location
from autograd_doctor.instruments.cycle.loss_scales import LossScales
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.instruments.spine.late_values import LateValues
from autograd_doctor.instruments.spine.ledger import Ledger
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.reading.places import locate, stack
from autograd_doctor.reading.tensor_facts import is_single, number_of
from autograd_doctor.reading.without_running import is_a
from autograd_doctor.signals import Signals
from autograd_doctor.signals.clipping import ClipCall


class _Found(NamedTuple):
    """What a call met, before it changed anything. lines: of the program, the innermost last."""

    parameters: list[int]
    fresh: list[int]
    missing: list[int]
    lines: list[Location]
    loss_scales: list[torch.Tensor]


class Clipping(Instrument):
    """Clipping by norm, by value, and by a norm computed before. Calls inside a call are not counted again."""

    emits: ClassVar[tuple[type[Event], ...]] = (GradientsClipped,)

    def __init__(
        self,
        site: Site,
        course: Course,
        detail: Detail,
        late_values: LateValues,
        parameters: Parameters,
        ledger: Ledger,
        loss_scales: LossScales,
    ) -> None:
        super().__init__(site)
        self._course = course
        self._detail = detail
        self._late_values = late_values
        self._parameters = parameters
        self._ledger = ledger
        self._loss_scales = loss_scales
        self._running: list[ClipCall] = []
        self._met: _Found | None = None

    def connect(self, signals: Signals) -> None:
        self.listen(signals.clipping.began, self._began)
        self.listen(signals.clipping.ended, self._ended)

    def _began(self, call: ClipCall) -> None:
        self._running.append(call)
        if len(self._running) == 1 and self._detail.full:
            self._met = self._found(call)

    def _found(self, call: ClipCall) -> _Found:
        self._ledger.catch_up()
        numbered = [(self._parameters.number(tensor), tensor.grad is None) for tensor in call.tensors]
        numbers = [number for number, _ in numbered]
        return _Found(
            parameters=numbers,
            fresh=[number for number, missing in numbered if not missing and self._ledger.fresh(number)],
            missing=[number for number, missing in numbered if missing],
            lines=[line for line in map(locate, stack()) if line is not None],
            loss_scales=self._loss_scales.in_parameters(numbers),
        )

    def _ended(self, call: ClipCall) -> None:
        self._running.remove(call)
        if self._running or call.raised or self._met is None:
            return
        found, self._met = self._met, None
        args, kwargs, result = call.args, call.kwargs, call.result
        limit = kwargs.get("max_norm", kwargs.get("clip_value", next(iter(args), 0.0)))
        total = kwargs.get("total_norm", args[1] if len(args) > 1 else None) if result is None else result
        by_value = call.name == "clip_grad_value_"
        clipped = GradientsClipped(
            step=self._course.steps,
            parameters=found.parameters,
            fresh=found.fresh,
            missing=found.missing,
            location=found.lines[-1] if found.lines else None,
            limit=float(limit),
            norm=None,
            kind="value" if by_value else "norm",
            callers=found.lines[:-1],
        )
        norm = [] if by_value or total is None else [_number(total)]

        def tell(values: Sequence[float]) -> None:
            scales = values[len(norm) :]
            told = replace(clipped, loss_scale=max(scales, default=1.0))
            self.emit(replace(told, norm=values[0]) if norm else told)

        self._late_values.ask(self, [*norm, *found.loss_scales], tell, in_place=True)


def _number(total: Any) -> torch.Tensor:
    """The norm of gradients that several devices hold is put together where they are; others are left as they are."""
    if is_a(total, torch.Tensor) and is_single(total):
        return number_of(total)
    return torch.tensor(float(total), dtype=torch.float64, device="cpu")
