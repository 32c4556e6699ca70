"""The loss scales of gradient scalers: whose gradients are multiplied by one, and whose step was suppressed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal
from weakref import WeakKeyDictionary, WeakSet

from torch.amp.grad_scaler import GradScaler, OptState
from torch.optim import Optimizer

from autograd_doctor.watching.naming import Numbers

if TYPE_CHECKING:
    from autograd_doctor.watching.watch import Watch

Call = Literal["scale", "unscale_", "step", "update"]


class Scalers:
    """What the enabled scalers of the program have done so far; on the watch for those who look at gradients."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._numbers = Numbers()
        self._scales: WeakKeyDictionary[GradScaler, float] = WeakKeyDictionary()
        self._known: WeakKeyDictionary[GradScaler, WeakSet[Optimizer]] = WeakKeyDictionary()
        self._skipped: WeakSet[Optimizer] = WeakSet()

    def number(self, scaler: GradScaler) -> int:
        number = self._numbers.get(scaler)
        return self._numbers.add(scaler) if number is None else number

    def loss_scale_of(self, optimizer: Optimizer) -> float:
        """The loss scale in the gradients of an optimizer, 1.0 if they hold none or were unscaled.

        An optimizer belongs to the scaler that was asked to step it. One that no scaler knows is taken to hold scaled
        gradients only while there is no other optimizer that they could have been scaled for.
        """
        mine = [scaler for scaler, optimizers in self._known.items() if optimizer in optimizers]
        strangers = [] if any(self._known.values()) else list(self._scales)
        return next((self._scales[scaler] for scaler in mine or strangers if self._holds(scaler, optimizer)), 1.0)

    def loss_scale_in(self, parameters: list[int]) -> float:
        """The loss scale in the gradients of parameters: that of the optimizers that hold them."""
        held = (optimizer for _, optimizer in self._watch.optimizers.living() if self._shares(optimizer, parameters))
        return max(map(self.loss_scale_of, held), default=1.0)

    def _shares(self, optimizer: Optimizer, parameters: list[int]) -> bool:
        mine = (parameter for group in optimizer.param_groups for parameter in group["params"])
        return any(self._watch.parameters.get(parameter) in parameters for parameter in mine)

    def skipped(self, optimizer: Optimizer) -> bool:
        """Whether the last step that a scaler was asked to take with this optimizer was suppressed."""
        return optimizer in self._skipped

    def _holds(self, scaler: GradScaler, optimizer: Optimizer) -> bool:
        state = scaler._per_optimizer_states.get(id(optimizer))
        return scaler in self._scales and (state is None or state["stage"] is OptState.READY)

    def used(self, scaler: GradScaler, call: Call, optimizer: Optimizer | None) -> tuple[float, bool]:
        """Keep account of a call that went through; returns the loss scale at that time and whether it met an Inf."""
        scale = self._scales.get(scaler) or scaler.get_scale()
        if call == "scale":
            self._scales[scaler] = scale
        elif call == "update":
            scale = scaler.get_scale()
            self._scales.pop(scaler, None)
        if optimizer is None:
            return scale, False
        self._known.setdefault(scaler, WeakSet()).add(optimizer)
        found_inf = any(bool(flag) for flag in scaler._found_inf_per_device(optimizer).values())
        if call == "step":
            (self._skipped.add if found_inf else self._skipped.discard)(optimizer)
        return scale, found_inf
