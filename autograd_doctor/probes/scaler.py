"""Watches gradient scalers: the calls made on them, and whose gradients are still multiplied by a loss scale."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ClassVar, Literal, Self
from weakref import WeakKeyDictionary, WeakSet

from torch.amp.grad_scaler import GradScaler, OptState
from torch.optim import Optimizer

from autograd_doctor.events import Event, GradientsClipped, OptimizerStepped, ScalerUsed
from autograd_doctor.probes.care import careful
from autograd_doctor.probes.naming import Numbers
from autograd_doctor.probes.patching import Patches
from autograd_doctor.probes.places import here
from autograd_doctor.probes.watch import Watch

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


class ScalerProbe:
    """Patches the four calls of `torch.amp.GradScaler`, which its subclasses for each device inherit."""

    # The last two say how far gradients are scaled, which nobody else knows.
    yields: ClassVar[tuple[type[Event], ...]] = (ScalerUsed, OptimizerStepped, GradientsClipped)

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._scalers = Scalers(watch)
        self._patches = Patches()
        self._inside = False
        self._last_scaled: tuple[object, ...] = ()

    def __enter__(self) -> Self:
        self._watch.scalers = self._scalers
        calls: tuple[Call, ...] = ("scale", "unscale_", "step", "update")
        for call in calls:
            self._patches.replace(GradScaler, call, self._watched(call, getattr(GradScaler, call)))
        return self

    def __exit__(self, *_: object) -> None:
        self._patches.close()
        self._watch.scalers = None

    def _watched(self, call: Call, original: Callable[..., Any]) -> Callable[..., Any]:
        """A scaler calls itself (`step` unscales, `scale` of a list recurses): only the program's call counts."""

        @wraps(original)
        def watched(scaler: GradScaler, *args: Any, **kwargs: Any) -> Any:
            if self._inside or not scaler.is_enabled():
                return original(scaler, *args, **kwargs)
            step = self._watch.step
            self._inside = True
            try:
                result = original(scaler, *args, **kwargs)
            finally:
                self._inside = False
            self._used(scaler, call, kwargs.get("optimizer", args[0] if args else None), step)
            return result

        return watched

    @careful
    def _used(self, scaler: GradScaler, call: Call, argument: object, step: int) -> None:
        optimizer = argument if call in ("unscale_", "step") and isinstance(argument, Optimizer) else None
        scale, found_inf = self._scalers.used(scaler, call, optimizer)
        number, location = self._scalers.number(scaler), here()
        if call == "scale":
            if self._last_scaled == (step, number, location):
                return
            self._last_scaled = (step, number, location)
        self._watch.emit(
            ScalerUsed(
                step=step,
                scaler=number,
                call=call,
                scale=scale,
                location=location,
                optimizer=self._watch.optimizers.number(optimizer) if optimizer is not None else None,
                found_inf=found_inf,
            )
        )


PROBE = ScalerProbe
