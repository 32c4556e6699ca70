"""The four calls of `torch.amp.GradScaler`, which its subclasses for each device inherit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, Literal, get_args

from torch.amp.grad_scaler import GradScaler

from autograd_doctor.signals.patches import Patches
from autograd_doctor.signals.signal import CallSeam

Name = Literal["scale", "unscale_", "step", "update"]


@dataclass(eq=False, slots=True)
class ScalerCall:
    """A call on a scaler. `argument` is the optimizer of `unscale_` and `step`, the outputs of `scale`; `result` what
    it returned."""

    scaler: GradScaler
    name: Name
    argument: Any
    raised: bool = False
    result: Any = None


class Scalers(CallSeam[ScalerCall]):
    """Scalers call themselves: `step` unscales, `scale` recurses."""

    def patch(self, patches: Patches) -> None:
        for name in get_args(Name):
            patches.replace(GradScaler, name, self._calling(name, getattr(GradScaler, name)))

    def _calling(self, name: Name, original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def watched(scaler: GradScaler, *args: Any, **kwargs: Any) -> Any:
            call = ScalerCall(scaler, name, kwargs.get("optimizer", args[0] if args else None))
            with self.around(call):
                call.result = original(scaler, *args, **kwargs)
            return call.result

        return watched
