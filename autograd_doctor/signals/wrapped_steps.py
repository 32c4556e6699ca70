"""Steps asked of an `AcceleratedOptimizer`, which passes on to the optimizer in it those that end an accumulation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

from torch.optim.optimizer import Optimizer

from autograd_doctor.signals.guard import Guard
from autograd_doctor.signals.patches import Patches
from autograd_doctor.signals.signal import Seam, Signal

_MODULE, _NAME = "accelerate.optimizer", "AcceleratedOptimizer"


@dataclass(eq=False, slots=True)
class WrappedStep:
    """`wrapper.step()`, before it is decided whether it is passed on."""

    wrapper: Any


class WrappedSteps(Seam):
    """`asked`. The class may be there already, or come when the program imports it; torch's hooks do not reach it."""

    def __init__(self, guard: Guard) -> None:
        super().__init__(guard)
        self.asked: Signal[WrappedStep] = Signal(guard, self)

    def patch(self, patches: Patches) -> None:
        def __init_subclass__(kind: type[Optimizer], /, **given: Any) -> None:  # noqa: N807
            super(Optimizer, kind).__init_subclass__(**given)
            self._watch(kind, patches)

        patches.replace(Optimizer, "__init_subclass__", classmethod(__init_subclass__))
        for kind in Optimizer.__subclasses__():
            self._watch(kind, patches)

    def _watch(self, kind: type[Optimizer], patches: Patches) -> None:
        step = vars(kind).get("step")
        if (kind.__module__, kind.__name__) == (_MODULE, _NAME) and step is not None:
            patches.replace(kind, "step", self._asking(step))

    def _asking(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def step(wrapper: Any, *args: Any, **kwargs: Any) -> Any:
            self.asked.send(WrappedStep(wrapper))
            return original(wrapper, *args, **kwargs)

        return step
