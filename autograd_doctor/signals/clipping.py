"""Clipping of gradients by torch's own functions, under both names that they have."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import wraps
from types import GeneratorType
from typing import Any

import torch
from torch.nn import utils
from torch.nn.utils import clip_grad

from autograd_doctor.reading.torch_versions import CLIPPING
from autograd_doctor.signals.patches import Patches
from autograd_doctor.signals.signal import CallSeam


@dataclass(eq=False, slots=True)
class ClipCall:
    """A call of a clipping function on `tensors`, with the rest of its arguments; result: when it has ended."""

    name: str
    tensors: list[torch.Tensor]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    result: Any = None
    raised: bool = False


class Clipping(CallSeam[ClipCall]):
    """Calls inside a call are signalled as well."""

    def patch(self, patches: Patches) -> None:
        for name in CLIPPING:
            watched = self._clipping(name, getattr(utils, name))
            for owner in (utils, clip_grad):
                if name in vars(owner):
                    patches.replace(owner, name, watched)

    def _clipping(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def clip(parameters: Any, *args: Any, **kwargs: Any) -> Any:
            parameters, tensors = _listed(parameters)
            call = ClipCall(name, tensors, args, kwargs)
            with self.around(call):
                call.result = original(parameters, *args, **kwargs)
            return call.result

        return clip


def _listed(parameters: torch.Tensor | Iterable[torch.Tensor]) -> tuple[Any, list[torch.Tensor]]:
    """The tensors of any iterable, and something to hand on in its place: torch treats empty generators apart."""
    if isinstance(parameters, torch.Tensor):
        return parameters, [parameters]
    tensors = list(parameters)
    return ((tensor for tensor in tensors) if isinstance(parameters, GeneratorType) else tensors), tensors
