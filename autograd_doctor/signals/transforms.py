"""Transforms of `torch.func`: `vmap`, and those that take gradients, alone or inside others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch._C import _functorch
from torch._functorch import apis, eager_transforms

from autograd_doctor.reading.tensors_in import EVERYTHING, tensors_in
from autograd_doctor.signals.guard import Guard
from autograd_doctor.signals.patches import Patches
from autograd_doctor.signals.signal import Seam, Signal


@dataclass(eq=False, slots=True)
class TransformCall:
    """A transform that the program called, and not from within another one.

    name: what torch calls it. args: what it was given. differentiated: the tensors of the program with respect to which
    it, or one inside it, took gradients. result: what it returned, gradients among it. value: of the function that was
    differentiated, where the call was for its gradients.
    """

    name: str
    args: tuple[Any, ...]
    differentiated: list[torch.Tensor] = field(default_factory=list)
    result: Any = None
    value: torch.Tensor | None = None


class Transforms(Seam):
    """`began`, before one runs; `ended`, where a transform took gradients and returned."""

    def __init__(self, guard: Guard) -> None:
        super().__init__(guard)
        self.began: Signal[TransformCall] = Signal(guard, self)
        self.ended: Signal[TransformCall] = Signal(guard, self)
        self._call: TransformCall | None = None

    def patch(self, patches: Patches) -> None:
        patches.replace(eager_transforms, "grad_and_value_impl", self._differentiating(eager_transforms))
        patches.replace(eager_transforms, "_vjp_with_argnums", self._pulling_back(eager_transforms))
        patches.replace(apis, "vmap_impl", self._mapping(vars(apis)["vmap_impl"]))

    def _differentiating(self, owner: Any) -> Callable[..., Any]:
        original = owner.grad_and_value_impl

        def grad_and_value_impl(func: Any, argnums: Any, has_aux: Any, args: Any, kwargs: Any) -> Any:
            def transform() -> Any:
                gradients, value = original(func, argnums, has_aux, args, kwargs)
                if self._call is not None and _functorch.peek_interpreter_stack() is None:
                    self._call.value = value[0] if has_aux else value
                return gradients, value

            return self._run("grad", transform, args, _chosen(args, argnums))

        return grad_and_value_impl

    def _pulling_back(self, owner: Any) -> Callable[..., Any]:
        """`vjp` returns the function that takes the gradients."""
        original = owner._vjp_with_argnums

        def _vjp_with_argnums(func: Any, *primals: Any, argnums: Any = None, has_aux: bool = False) -> Any:
            output, pull_back, *aux = original(func, *primals, argnums=argnums, has_aux=has_aux)
            by = _chosen(primals, argnums)

            def wrapper(*args: Any, **kwargs: Any) -> Any:
                return self._run("vjp", lambda: pull_back(*args, **kwargs), primals, by)

            return output, wrapper, *aux

        return _vjp_with_argnums

    def _mapping(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def vmap_impl(*args: Any, **kwargs: Any) -> Any:
            return self._run("vmap", lambda: original(*args, **kwargs), args, [])

        return vmap_impl

    def _run(self, name: str, transform: Callable[[], Any], args: tuple[Any, ...], by: list[torch.Tensor]) -> Any:
        """The outermost transform tells of all that happened inside it."""
        if _functorch.peek_interpreter_stack() is not None:
            if self._call is not None:
                self._call.differentiated += _as_held(by, self._call.args)
            return transform()
        if not self.guard.idle or not (self.began or self.ended):
            return transform()
        outer, self._call = self._call, TransformCall(name, args, by)
        call = self._call
        self.began.send(call)
        try:
            call.result = transform()
        finally:
            self._call = outer
        if call.differentiated:
            self.ended.send(call)
        return call.result


def _chosen(args: tuple[Any, ...], argnums: Any) -> list[torch.Tensor]:
    """The tensors that a transform differentiates by."""
    if argnums is None:
        chosen: tuple[Any, ...] = args
    elif isinstance(argnums, int):
        chosen = args[argnums : argnums + 1 or None]
    else:
        chosen = tuple(args[number] for number in argnums if -len(args) <= number < len(args))
    return tensors_in(chosen, EVERYTHING)


def _as_held(tensors: list[torch.Tensor], args: tuple[Any, ...]) -> list[torch.Tensor]:
    """Those that the program holds: as they are, or as arguments that the transforms around have wrapped."""
    given = {id(tensor) for tensor in tensors_in(args, EVERYTHING)}
    held = []
    for tensor in tensors:
        inner = tensor
        while _functorch.is_functorch_wrapped_tensor(inner):
            inner = _functorch.get_unwrapped(inner)
        if inner is tensor or id(inner) in given:
            held.append(inner)
    return held
