"""Writes to parameters while a forward pass runs: in place, through `.data`, or into `out=`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from autograd_doctor.watching.places import Place, place
from autograd_doctor.watching.without_running import is_a

_HARMLESS = {"requires_grad_", "detach_", "share_memory_"}
_OPERATORS = {"__setitem__", *(f"__i{name}__" for name in ("add", "sub", "mul", "div", "truediv", "floordiv", "pow"))}
_SET_DATA = torch.Tensor.data.__set__  # type: ignore[attr-defined]

Numbered = list[tuple[int, torch.Tensor]]


class ParameterWrites(TorchFunctionMode):
    """Finds the lines that write. The version counter alone does not see `.data`, and does not know the line."""

    def __init__(self, parameters: Numbered) -> None:
        super().__init__()
        self._numbers = {_address(parameter): number for number, parameter in parameters}
        self.found: dict[int, Place | None] = {}

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        target: Any = next(iter((*args, *kwargs.values())), None) if _writes(func) else kwargs.get("out")
        number = self._numbers.get(_address(target)) if is_a(target, torch.Tensor) else None
        result = func(*args, **kwargs)
        if number is not None and number not in self.found:
            self.found[number] = place()
        return result


def versions(parameters: Iterable[tuple[int, torch.Tensor]]) -> dict[int, int]:
    """Version counters by number; tensors made in inference mode have none."""
    return {number: parameter._version for number, parameter in parameters if not parameter.is_inference()}


def _writes(func: Callable[..., Any]) -> bool:
    name = getattr(func, "__name__", "")
    if name.startswith("__"):
        return name in _OPERATORS or func == _SET_DATA
    return name.endswith("_") and name not in _HARMLESS


def _address(tensor: torch.Tensor) -> int:
    """Where the values lie; 0 for tensors without an address of their own (meta, sparse, wrapped)."""
    if tensor.layout is not torch.strided or tensor.is_meta:
        return 0
    return tensor.untyped_storage().data_ptr()
