"""Whether a value that is not finite came of the range of a small dtype, not of the mathematics."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from autograd_doctor.reading.operation_kinds import changes_input
from autograd_doctor.reading.tensor_facts import is_remote
from autograd_doctor.reading.tensors_in import tensors_in

_CASTS = frozenset({"to", "half", "bfloat16", "type", "type_as"})
_FINITE = frozenset({
    "add", "addmm", "baddbmm", "bmm", "conv1d", "conv2d", "conv3d", "dot", "einsum", "linear", "matmul", "mm", "mul",
    "mv", "square", "sub", "sum",
})  # fmt: skip
"""Operations whose result on finite numbers is finite, but for the range of the dtype."""
FINITE_SLOPES = frozenset({
    "Add", "Addbmm", "Addmm", "Baddbmm", "Bmm", "Cat", "Clone", "Convolution", "Dot", "Expand", "Linear", "Mean", "Mm",
    "Mul", "Mv", "Neg", "Relu", "Repeat", "Select", "Slice", "Stack", "Sub", "Sum", "T", "Tanh", "ToCopy", "Transpose",
    "UnsafeView", "View",
})  # fmt: skip
"""Nodes that make finite gradients out of finite ones wherever the result fits into the dtype."""


def is_low(tensor: torch.Tensor) -> bool:
    """Whether a dtype has fewer bits than float32."""
    return tensor.is_floating_point() and tensor.dtype.itemsize < 4


def overflows(name: str, output: torch.Tensor) -> bool:
    """Whether what an operation gives on finite numbers can only be Inf because of a small dtype."""
    return is_low(output) and (name in _CASTS or name in _FINITE)


def from_range(
    function: Callable[..., Any], name: str, args: Sequence[Any], kwargs: Mapping[str, Any], output: torch.Tensor
) -> bool | None:
    """Whether an operation, done once more in float32 on the same finite operands, gives finite values.

    None where that cannot be tried: the output is no tensor of a small dtype, or the operation has overwritten what
    went in. Call it in a look.
    """
    if not is_low(output) or changes_input(name) or kwargs.get("out") is not None:
        return None
    if name in _CASTS:
        return True
    kind, devices = output.device.type, [output.device] if is_remote(output) else []
    with (
        torch.random.fork_rng(devices, device_type=kind),
        torch.autocast(kind, enabled=False),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")  # the program has been given them already
        try:
            result = function(*_widened(args), **_widened(kwargs))
        except (RuntimeError, TypeError, ValueError, IndexError):  # not for these dtypes
            return None
    return all(bool(torch.isfinite(each).all()) for each in tensors_in((result,)) if each.is_floating_point())


def overflows_only_by_range(operation: str, gradients: Sequence[torch.Tensor | None]) -> bool:
    """Whether a node with finite slopes made gradients that are not finite, of a small dtype.

    operation: as nodes spell it, "NativeLayerNorm".
    """
    spoiled = [each for each in gradients if each is not None and not bool(torch.isfinite(each).all())]
    return operation in FINITE_SLOPES and bool(spoiled) and all(map(is_low, spoiled))


def _widened(value: Any) -> Any:
    """Arguments with tensors and dtypes of few bits in float32."""
    if isinstance(value, torch.Tensor):
        return value.detach().float() if is_low(value) else value.detach()
    if isinstance(value, torch.dtype):
        return torch.float32 if value in (torch.float16, torch.bfloat16) else value
    if type(value) in (tuple, list):
        return type(value)(map(_widened, value))
    return {key: _widened(each) for key, each in value.items()} if isinstance(value, Mapping) else value
