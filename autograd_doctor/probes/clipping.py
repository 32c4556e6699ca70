"""Watches the clipping of gradients by torch's own functions, under both names that they have."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from types import GeneratorType
from typing import Any, ClassVar, NamedTuple, Self

import torch
from torch.nn import utils
from torch.nn.utils import clip_grad

from autograd_doctor.events import Event, GradientsClipped
from autograd_doctor.findings import Location
from autograd_doctor.watching.care import careful
from autograd_doctor.watching.patching import Patches
from autograd_doctor.watching.places import here
from autograd_doctor.watching.watch import Watch


class _Found(NamedTuple):
    """What a call met, before it changed anything."""

    parameters: list[int]
    fresh: list[int]
    missing: list[int]
    location: Location | None
    loss_scale: float


class Clipping:
    """Clipping by norm, by value, and by a norm computed before. Calls inside a call are not counted again."""

    yields: ClassVar[tuple[type[Event], ...]] = (GradientsClipped,)

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._patches = Patches()
        self._inside = False

    def __enter__(self) -> Self:
        for name in ("clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_"):
            watched = self._watched(name, getattr(utils, name))
            for owner in (utils, clip_grad):
                if name in vars(owner):
                    self._patches.replace(owner, name, watched)
        return self

    def __exit__(self, *_: object) -> None:
        self._patches.close()

    def _watched(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def clip(parameters: Any, *args: Any, **kwargs: Any) -> Any:
            if self._inside:
                return original(parameters, *args, **kwargs)
            parameters, tensors = _listed(parameters)
            found = self._found(tensors)
            self._inside = True
            try:
                result = original(parameters, *args, **kwargs)
            finally:
                self._inside = False
            if found is not None:
                self._clipped(name, found, result, args, kwargs)
            return result

        return clip

    @careful
    def _found(self, tensors: list[torch.Tensor]) -> _Found:
        ledger, scalers = self._watch.gradients, self._watch.scalers
        ledger.catch_up()
        numbered = [(self._watch.parameters.number(tensor), tensor.grad is None) for tensor in tensors]
        numbers = [number for number, _ in numbered]
        return _Found(
            parameters=numbers,
            fresh=[number for number, missing in numbered if not missing and ledger.fresh(number)],
            missing=[number for number, missing in numbered if missing],
            location=here(),
            loss_scale=scalers.loss_scale_in(numbers) if scalers is not None else 1.0,
        )

    @careful
    def _clipped(self, name: str, found: _Found, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        limit = kwargs.get("max_norm", kwargs.get("clip_value", next(iter(args), 0.0)))
        total = kwargs.get("total_norm", args[1] if len(args) > 1 else None) if result is None else result
        by_value = name == "clip_grad_value_"
        self._watch.emit(
            GradientsClipped(
                step=self._watch.step,
                limit=float(limit),
                norm=None if by_value or total is None else float(total),
                kind="value" if by_value else "norm",
                **found._asdict(),
            )
        )


def _listed(parameters: torch.Tensor | Iterable[torch.Tensor]) -> tuple[Any, list[torch.Tensor]]:
    """The tensors of any iterable, and something to hand on in its place: torch treats empty generators apart."""
    if isinstance(parameters, torch.Tensor):
        return parameters, [parameters]
    tensors = list(parameters)
    return ((tensor for tensor in tensors) if isinstance(parameters, GeneratorType) else tensors), tensors


PROBE = Clipping
