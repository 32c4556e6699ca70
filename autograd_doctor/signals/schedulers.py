"""Steps of learning-rate schedulers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

from torch.optim import lr_scheduler
from torch.optim.lr_scheduler import LRScheduler

from autograd_doctor.signals.patches import Patches
from autograd_doctor.signals.signal import CallSeam


@dataclass(eq=False, slots=True)
class ScheduleCall:
    """A step of a scheduler. `constructing`: it is the call that its constructor makes. metric: what it was given."""

    scheduler: LRScheduler
    constructing: bool = False
    metric: Any = None
    raised: bool = False


class Schedulers(CallSeam[ScheduleCall]):
    """A scheduler that steps others calls their `step`."""

    def patch(self, patches: Patches) -> None:
        for kind in vars(lr_scheduler).values():
            if isinstance(kind, type) and issubclass(kind, LRScheduler) and "step" in vars(kind):
                patches.replace(kind, "step", self._calling(vars(kind)["step"], constructing=False))
        patches.replace(LRScheduler, "_initial_step", self._calling(LRScheduler._initial_step, constructing=True))

    def _calling(self, original: Callable[..., None], *, constructing: bool) -> Callable[..., None]:
        @wraps(original)
        def step(scheduler: LRScheduler, *args: Any, **kwargs: Any) -> None:
            call = ScheduleCall(scheduler, constructing, kwargs.get("metrics", args[0] if args else None))
            with self.around(call):
                original(scheduler, *args, **kwargs)

        return step
