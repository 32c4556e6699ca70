"""Models that `DistributedDataParallel` wraps, and the parameters whose gradients it averages from then on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any

import torch
from torch.nn.parallel import DistributedDataParallel

from autograd_doctor.signals.guard import Guard
from autograd_doctor.signals.patches import Patches
from autograd_doctor.signals.signal import Seam, Signal


@dataclass(eq=False, slots=True)
class Wrapped:
    """A model is being wrapped. reduced: what is averaged, in the order in which torch counts in its messages."""

    wrapper: DistributedDataParallel
    reduced: Sequence[torch.Tensor]


class Wrapping(Seam):
    """`wrapped` when the wrapper has chosen what to average: what learns at that time, and is not to be ignored.

    Its constructor is not replaced, since programs derive classes of it; the method that chooses is.
    """

    def __init__(self, guard: Guard) -> None:
        super().__init__(guard)
        self.wrapped: Signal[Wrapped] = Signal(guard, self)

    def patch(self, patches: Patches) -> None:
        name = "_build_params_for_reducer"
        patches.replace(DistributedDataParallel, name, self._choosing(getattr(DistributedDataParallel, name)))

    def _choosing(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def choose(wrapper: DistributedDataParallel) -> Any:
            chosen = original(wrapper)
            self.wrapped.send(Wrapped(wrapper, list(chosen[0])))
            return chosen

        return choose
