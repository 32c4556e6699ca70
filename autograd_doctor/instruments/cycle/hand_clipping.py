"""Gradients that the program clips by itself, seen by what it does: it scales them, each time to the same norm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import hypot, isclose
from typing import Any, ClassVar

import torch
from msgspec.structs import replace

from autograd_doctor.events.cycle import GradientsClipped
from autograd_doctor.events.event import Event
from autograd_doctor.findings import Location
from autograd_doctor.instruments.cycle.loss_scales import LossScales
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.late_values import LateValues
from autograd_doctor.instruments.spine.ledger import Ledger
from autograd_doctor.instruments.spine.optimizers import Optimizers
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.reading.places import Place, locate, stack
from autograd_doctor.reading.provenance import address
from autograd_doctor.reading.spelling import spelt
from autograd_doctor.reading.subclasses import gradient_of
from autograd_doctor.reading.tensor_facts import are_equal, is_remote, is_single, norms_to_come, number_of
from autograd_doctor.reading.without_running import is_a
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.signals.clipping import ClipCall
from autograd_doctor.signals.operations import Operation
from autograd_doctor.signals.optimizers import StepCall
from autograd_doctor.signals.scalers import ScalerCall

_SCALING = frozenset({"mul_", "__imul__", "multiply_", "div_", "__itruediv__", "divide_", "true_divide_"})
_TIMES = 3
"""How often in a row gradients must be scaled to the same norm: twice may be chance, where there are many."""
_SAME = 1e-3
"""Relative: of norms in 16 bits, and where 1e-6 was added to a small norm before it was divided by."""
_OTHER = 0.01
"""Relative. Factors that differ by less are one and the same, by which gradients are averaged or unscaled."""


@dataclass(eq=False, slots=True)
class _Scaled:
    """Gradients that a line scales by one number, and their norms after that. by: what that number is now."""

    place: Place
    factor: Any
    by: torch.Tensor
    divides: bool
    lines: list[Location]
    parameters: list[int] = field(default_factory=list)
    fresh: list[int] = field(default_factory=list)
    norms: list[torch.Tensor] = field(default_factory=list)
    loss_scales: list[torch.Tensor] = field(default_factory=list)

    def goes_on(self, place: Place, factor: Any) -> bool:
        """Whether another gradient is scaled along with these: by the same number, as far as one can tell at once."""
        if is_a(factor, torch.Tensor) and factor is not self.factor:
            return place == self.place and not is_remote(factor) and are_equal(number_of(factor), self.by)
        return place == self.place and (factor is self.factor or factor == self.factor)


@dataclass(slots=True)
class _Line:
    """What a line has done so far. norm: to which it scaled last, so many times in a row. least, most: the factors."""

    norm: float = 0.0
    times: int = 0
    least: float = 1.0
    most: float = 0.0

    @property
    def clips(self) -> bool:
        return self.times >= _TIMES and self.most > (1 + _OTHER) * self.least

    def scaled(self, norm: float, factor: float) -> None:
        if not isclose(norm, self.norm, rel_tol=_SAME):
            self.norm, self.times, self.least, self.most = norm, 0, 1.0, 0.0
        self.times += 1
        self.least, self.most = min(self.least, factor), max(self.most, factor)


class HandClipping(Instrument):
    """Listens to products of gradients and numbers, in place. A line that has led to the same norm, by factors that
    differ, is one that clips: its calls are told from then on, as those of torch's own functions are, where a step or
    a further backward finds what they left. What is cleared before, as a step to climb by is, was scaled for something
    else.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (GradientsClipped,)

    def __init__(
        self,
        site: Site,
        course: Course,
        late_values: LateValues,
        parameters: Parameters,
        optimizers: Optimizers,
        ledger: Ledger,
        loss_scales: LossScales,
    ) -> None:
        super().__init__(site)
        self._course = course
        self._late_values = late_values
        self._parameters = parameters
        self._optimizers = optimizers
        self._ledger = ledger
        self._loss_scales = loss_scales
        self._gradients: dict[tuple[int, torch.Size], int] = {}
        self._scaled: _Scaled | None = None
        self._waiting: list[_Scaled] = []
        self._lines: dict[Place, _Line] = {}
        self._by_torch = 0

    def connect(self, signals: Signals) -> None:
        self.listen(signals.backward.began, self._backward_began)
        self.listen(self._course.backward_over, self._backward_over, attention=Attention.FULL)
        self.listen(signals.operations.ended, self._operated, attention=Attention.FULL, names=_SCALING)
        self.listen(signals.clipping.began, self._clipping_began)
        self.listen(signals.clipping.ended, self._clipping_ended)
        self.listen(signals.scalers.began, self._scaler_began)
        self.listen(signals.steps.began, self._step_began)

    # ---------------------------------------------------------------------------------------------------- what happens

    def _backward_began(self, call: BackwardCall) -> None:
        self._settle()
        self._gradients.clear()

    def _backward_over(self, course: Course) -> None:
        """The gradients that steps of optimizers are to use."""
        held = self._optimizers.holds
        found = ((number, gradient_of(each)) for number, each in self._parameters.living() if held(number))
        self._gradients = {(address(g), g.shape): number for number, g in found if g is not None and address(g)}

    def _clipping_began(self, call: ClipCall) -> None:
        self._by_torch += 1

    def _clipping_ended(self, call: ClipCall) -> None:
        self._by_torch -= 1

    def _scaler_began(self, call: ScalerCall) -> None:
        self._over()

    def _step_began(self, call: StepCall) -> None:
        self._settle()

    def _operated(self, operation: Operation) -> None:
        target, factor = (*operation.args, *operation.kwargs.values())[:2]
        number = self._gradients.get((address(target), target.shape)) if is_a(target, torch.Tensor) else None
        if number is None or operation.place is None or self._by_torch or not _is_number(factor):
            return
        held = self._scaled
        if held is None or number in held.parameters or not held.goes_on(operation.place, factor):
            self._over()
            held = self._scaled = self._begun(operation, operation.place, factor)
        held.parameters.append(number)
        held.fresh += [number] if self._ledger.fresh(number) else []
        held.norms += norms_to_come([target]).parts
        if held.place in self._lines and self._lines[held.place].clips:
            self._ledger.clipped(number, target)

    def _begun(self, operation: Operation, place: Place, factor: Any) -> _Scaled:
        lines = [line for line in map(locate, stack()) if line is not None]
        by = number_of(factor) if is_a(factor, torch.Tensor) else torch.tensor(float(factor), device="cpu")
        return _Scaled(place, factor, by, spelt(operation.name).name == "div", lines)

    # ------------------------------------------------------------------------------------------------- what it comes to

    def _over(self) -> None:
        """These are all that were scaled together; a scaler may take its scale out of them now."""
        if self._scaled is not None:
            self._scaled.loss_scales = self._loss_scales.in_parameters(self._scaled.parameters)
            self._waiting.append(self._scaled)
        self._scaled = None

    def _settle(self) -> None:
        """Somebody finds what was left of the gradients that were scaled, or nothing."""
        self._over()
        waiting, self._waiting = self._waiting, []
        if waiting:
            self._ledger.catch_up()
        for scaled in waiting:
            self._tell(scaled, is_left=any(map(self._ledger.fresh, scaled.parameters)))

    def _tell(self, scaled: _Scaled, *, is_left: bool) -> None:
        clipped = GradientsClipped(
            step=self._course.steps,
            parameters=scaled.parameters,
            fresh=scaled.fresh,
            missing=[],
            location=locate(scaled.place),
            limit=0.0,
            callers=scaled.lines[:-1],
        )

        def tell(values: Sequence[float]) -> None:
            by = 1 / values[0] if scaled.divides and values[0] else values[0]
            after = hypot(*values[1 : 1 + len(scaled.norms)])
            line = self._lines.setdefault(scaled.place, _Line())
            if 0 < by < 1 and after > 0:
                line.scaled(after, by)
            if is_left and line.clips and 0 < by <= 1 and after <= (1 + _SAME) * line.norm:
                scales = values[1 + len(scaled.norms) :]
                self.emit(replace(clipped, limit=line.norm, norm=after / by, loss_scale=max(scales, default=1.0)))

        self._late_values.ask(self, [scaled.by, *scaled.norms, *scaled.loss_scales], tell, in_place=True)


def _is_number(factor: Any) -> bool:
    return type(factor) in (int, float) or (is_a(factor, torch.Tensor) and is_single(factor))
