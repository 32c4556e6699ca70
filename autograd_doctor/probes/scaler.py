"""Watches gradient scalers: the calls made on them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ClassVar, Self

from torch.amp.grad_scaler import GradScaler
from torch.optim import Optimizer

from autograd_doctor.events import Event, GradientsClipped, OptimizerStepped, ScalerUsed
from autograd_doctor.watching.care import careful
from autograd_doctor.watching.loss_scales import Call, Scalers
from autograd_doctor.watching.patching import Patches
from autograd_doctor.watching.places import here
from autograd_doctor.watching.watch import Watch


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
