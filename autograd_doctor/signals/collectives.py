"""Calls of `torch.distributed` that every rank of a group has to make."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any

import torch
from torch import distributed

from autograd_doctor.reading.tensors_in import tensors_in
from autograd_doctor.signals.guard import Guard
from autograd_doctor.signals.patches import Patches
from autograd_doctor.signals.signal import Seam, Signal

_COLLECTIVES = (
    "all_gather",
    "all_gather_into_tensor",
    "all_gather_object",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "broadcast",
    "broadcast_object_list",
    "gather",
    "gather_object",
    "monitored_barrier",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_tensor",
    "scatter",
    "scatter_object_list",
)


@dataclass(eq=False, slots=True)
class Collective:
    """A collective is about to be called by the program. of_all: on the group of all ranks. given: its tensors."""

    name: str
    of_all: bool
    given: Sequence[torch.Tensor]


class Collectives(Seam):
    """`begins` before each call by a name of `torch.distributed`; what torch calls itself goes by other names."""

    def __init__(self, guard: Guard) -> None:
        super().__init__(guard)
        self.begins: Signal[Collective] = Signal(guard, self)

    def patch(self, patches: Patches) -> None:
        for name in _COLLECTIVES:
            if (original := getattr(distributed, name, None)) is not None:
                patches.replace(distributed, name, self._calling(name, original))

    def _calling(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def call(*args: Any, **kwargs: Any) -> Any:
            given = (*args, *kwargs.values())
            self.begins.send(Collective(name, _is_of_all(given), tensors_in(given)))
            return original(*args, **kwargs)

        return call


def _is_of_all(given: tuple[Any, ...]) -> bool:
    groups = [each for each in given if isinstance(each, distributed.ProcessGroup)]
    return all(each is distributed.group.WORLD for each in groups)
