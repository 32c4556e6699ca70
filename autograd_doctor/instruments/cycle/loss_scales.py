"""The loss scales of gradient scalers: whose gradients are multiplied by one, and what was called on a scaler."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import torch
from msgspec.structs import replace
from torch.amp.grad_scaler import GradScaler, OptState
from torch.optim import Optimizer

from autograd_doctor.events.cycle import ScalerUsed
from autograd_doctor.events.event import Event
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.instruments.spine.late_values import LateValues
from autograd_doctor.instruments.spine.ledger import Ledger
from autograd_doctor.instruments.spine.optimizers import Optimizers
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.reading.numbers import IdentityTable, Numbers
from autograd_doctor.reading.optimizer_groups import parameters_of
from autograd_doctor.reading.places import here
from autograd_doctor.reading.subclasses import gradient_of
from autograd_doctor.reading.tensor_facts import norms_to_come, number_of
from autograd_doctor.reading.without_running import attributes, is_a
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.signals.scalers import Name, ScalerCall

_NONE = torch.ones((), device="cpu")
"""The scale of gradients that were not scaled."""
_NOT = torch.zeros((), dtype=torch.bool, device="cpu")
_ROUNDING = 1.01
"""How much larger gradients of 16 bits may be, by rounding, than those of before divided by the scale."""


class LossScales(Instrument):
    """What the enabled scalers of the program have done so far. Only calls of the program count, not a scaler's own.

    A program may divide by the scale itself, in whichever way: then its gradients are that much smaller than the
    backward left them, or more, as where they are clipped as well.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (ScalerUsed,)

    def __init__(
        self,
        site: Site,
        course: Course,
        detail: Detail,
        late_values: LateValues,
        parameters: Parameters,
        optimizers: Optimizers,
        ledger: Ledger,
    ) -> None:
        super().__init__(site)
        self._course = course
        self._late_values = late_values
        self._detail = detail
        self._ledger = ledger
        self._parameters = parameters
        self._optimizers = optimizers
        self._running: list[tuple[ScalerCall, int]] = []
        self._last_scaled: tuple[object, ...] = ()
        self._numbers = Numbers()
        self._scales: IdentityTable[torch.Tensor] = IdentityTable()
        self._known: IdentityTable[IdentityTable[None]] = IdentityTable()
        self._written: dict[int, list[torch.Tensor]] | None = None
        """The norms of what the last backwards wrote under a scale, for optimizers that no scaler knows; None where
        light steps have passed."""
        self._divided: IdentityTable[torch.Tensor] = IdentityTable()
        """Whether the program has divided by the scale in the last step of an optimizer that could be judged."""

    def connect(self, signals: Signals) -> None:
        self.listen(signals.scalers.began, self._began)
        self.listen(signals.scalers.ended, self._ended)
        self.listen(signals.backward.ended, self._backward_ended, attention=Attention.FULL)
        self.listen(self._detail.turned, self._turned)

    # ------------------------------------------------------------------------------------------------- questions

    def of_optimizer(self, optimizer: Optimizer, among: Sequence[int] | None = None) -> torch.Tensor:
        """The loss scale in the gradients of an optimizer, 1.0 if they hold none or were unscaled. It is one number,
        and may lie on an accelerator. among: parameters, where only these matter.

        An optimizer belongs to the scaler that was asked to step it. One that no scaler knows is taken to hold scaled
        gradients only while there is no other optimizer that they could have been scaled for, and while they are not
        seen to have been divided by the program itself.
        """
        mine = [scaler for scaler, optimizers in self._known.items() if optimizer in optimizers]
        strangers = [] if any(held for _, held in self._known.items()) else [each for each, _ in self._scales.items()]
        scales = (self._scales.get(scaler) for scaler in mine or strangers if _holds(scaler, optimizer))
        scale = next((scale for scale in scales if scale is not None), _NONE)
        if mine or scale is _NONE:
            return scale
        is_divided = self._is_divided(optimizer, scale, among).to(scale.device, non_blocking=True)
        return torch.where(is_divided, torch.ones_like(scale), scale)

    def divided(self, optimizer: Optimizer) -> torch.Tensor:
        """Whether the program itself has divided the gradients of an optimizer that no scaler knows by a scale."""
        if any(optimizer in optimizers for _, optimizers in self._known.items()):
            return _NOT
        scale = next((scale for _, scale in self._scales.items()), None)
        return _NOT if scale is None else self._is_divided(optimizer, scale, None)

    def _is_divided(self, optimizer: Optimizer, scale: torch.Tensor, among: Sequence[int] | None) -> torch.Tensor:
        """As in the step before where it cannot be seen. What no backward wrote, the program has made by itself."""
        before = self._divided.get(optimizer)
        known = _NOT if before is None else before
        held = self._gradients_of(optimizer, among)
        if self._written is None or not held:
            return known
        both = [(self._written[number], gradient) for number, gradient in held if number in self._written]
        if not both:
            return ~_NOT
        old = [part for parts, _ in both for part in parts]
        now = norms_to_come([gradient for _, gradient in both]).parts
        if len({part.device for part in (*old, *now, scale)}) > 1 or not now:
            return known
        was, rest = torch.stack(old).norm(), torch.stack(now).norm() * scale
        can_tell = was.isfinite() & rest.isfinite() & (was > 0)
        verdict = torch.where(can_tell, rest <= _ROUNDING * was, known.to(was.device, non_blocking=True))
        self._divided.put(optimizer, verdict)
        return verdict

    def _gradients_of(self, optimizer: Optimizer, among: Sequence[int] | None) -> list[tuple[int, torch.Tensor]]:
        numbered = ((self._parameters.get(each), gradient_of(each)) for each in parameters_of(optimizer))
        return [
            (number, gradient)
            for number, gradient in numbered
            if number is not None and gradient is not None and (among is None or number in among)
        ]

    def at_step(self, optimizer: Optimizer) -> torch.Tensor:
        """The loss scale in the gradients that a step begins with: a fused optimizer is given it, to unscale them."""
        fused = attributes(optimizer).get("grad_scale")
        return self.of_optimizer(optimizer) if fused is None else number_of(fused)

    def in_parameters(self, parameters: list[int]) -> list[torch.Tensor]:
        """The loss scales in the gradients of parameters: those of the optimizers that hold them."""
        held = (optimizer for _, optimizer in self._optimizers.living() if self._shares(optimizer, parameters))
        return [self.of_optimizer(optimizer, parameters) for optimizer in held]

    def _shares(self, optimizer: Optimizer, parameters: list[int]) -> bool:
        mine = parameters_of(optimizer)
        return any(self._parameters.get(parameter) in parameters for parameter in mine)

    # -------------------------------------------------------------------------------------------------- backwards

    def _turned(self, detail: Detail) -> None:
        self._written = None

    def _backward_ended(self, call: BackwardCall) -> None:
        """Remember how large the gradients are while they hold a scale that no scaler may take out again."""
        if call.kind != "backward" or not any(True for _ in self._scales.items()):
            return
        self._written = {} if self._written is None else self._written
        shown = (optimizer for _, optimizers in self._known.items() for optimizer, _ in optimizers.items())
        theirs = {id(parameter) for optimizer in shown for parameter in parameters_of(optimizer)}
        living = {number: each for number, each in self._parameters.living() if id(each) not in theirs}
        held = [(number, gradient_of(living[number])) for number in self._ledger.wrote if number in living]
        wrote = [(number, gradient) for number, gradient in held if gradient is not None]
        coming = norms_to_come([gradient for _, gradient in wrote])
        self._written |= {number: [] for number, _ in wrote}
        for position, part in zip(coming.positions, coming.parts, strict=True):
            self._written[wrote[position][0]].append(part)

    # ----------------------------------------------------------------------------------------------------- calls

    def _began(self, call: ScalerCall) -> None:
        self._running.append((call, self._course.steps))

    def _ended(self, call: ScalerCall) -> None:
        _, step = self._running.pop()
        if self._running or call.raised or not call.scaler.is_enabled():
            return
        optimizer = call.argument if call.name in ("unscale_", "step") else None
        known = optimizer if is_a(optimizer, Optimizer) else None
        scale, flags = self._used(call.scaler, call.name, known)
        number, location = self._numbers.number(call.scaler), here()
        if not self._detail.full:
            return
        if call.name == "scale":
            if self._last_scaled == (step, number, location):
                return
            self._last_scaled = (step, number, location)
        used = ScalerUsed(
            step=step,
            scaler=number,
            call=call.name,
            scale=1.0,
            location=location,
            optimizer=self._optimizers.number(known) if known is not None else None,
        )

        def tell(values: Sequence[float]) -> None:
            self.emit(replace(used, scale=values[0], found_inf=any(values[1:])))

        self._late_values.ask(self, [scale, *flags], tell, in_place=True)

    def _used(
        self, scaler: GradScaler, name: Name, optimizer: Optimizer | None
    ) -> tuple[torch.Tensor, list[torch.Tensor]]:
        """Keep account of a call; returns the loss scale at that time, and what is 1 where it met an Inf."""
        known = self._scales.get(scaler) if name != "update" else None
        scale = known if known is not None else _scale_of(scaler)
        if name == "scale":
            self._scales.put(scaler, scale)
        elif name == "update":
            self._scales.discard(scaler)
            self._written = None if self._written is None else {}
        if optimizer is None:
            return scale, []
        optimizers = self._known.get(scaler)
        if optimizers is None:
            optimizers = IdentityTable()
            self._known.put(scaler, optimizers)
        optimizers.put(optimizer, None)
        flags = scaler._found_inf_per_device(optimizer).values() if self._detail.full else ()
        return scale, list(map(number_of, flags))


def _scale_of(scaler: GradScaler) -> torch.Tensor:
    """As `get_scale`, left where it lies: a number of its own, since updates write to that of the scaler."""
    scale = scaler._get_scale_async()
    if scale is None:
        return torch.tensor(scaler._init_scale, dtype=torch.float32, device="cpu")
    return number_of(scale)


def _holds(scaler: GradScaler, optimizer: Optimizer) -> bool:
    """Whether the gradients of an optimizer may still be multiplied by the scale: it was not asked to unscale them."""
    state = scaler._per_optimizer_states.get(id(optimizer))
    return state is None or state["stage"] is OptState.READY
