"""Which operation gave a tensor its values: behind views, copies and all else that moves or hardly changes them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from autograd_doctor.events.losses import Shaping
from autograd_doctor.operations import DIFFERENCES, DROPOUTS, PRODUCTS, SOFTMAXES
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.spelling import spelt

_KEEPS = DROPOUTS | {"nan_to_num"}
"""Operations that leave most values about where they are."""
_CLAMPS = frozenset({"clamp", "clamp_max", "clamp_min", "clip"})
"""Operations that leave values of a bounded range about where they are."""
_EPSILON = 1e-3
"""What is added to keep a logarithm finite is no more than this."""
_MOST_BEHIND = 4
"""Activations one right behind the other: one more than anybody would put there by mistake."""

_UNBOUNDED = (-math.inf, math.inf)
_UNIT, _POSITIVE, _NEGATIVE, _BOTH = (0.0, 1.0), (0.0, math.inf), (-math.inf, 0.0), (-1.0, 1.0)
_BOUNDS = {
    "softmax": _UNIT, "gumbel_softmax": _UNIT, "softmin": _UNIT, "sigmoid": _UNIT, "hardsigmoid": _UNIT,
    "tanh": _BOTH, "softsign": _BOTH, "relu": _POSITIVE, "relu6": (0.0, 6.0), "softplus": _POSITIVE, "exp": _POSITIVE,
    "log_softmax": _NEGATIVE, "logsigmoid": _NEGATIVE,
}  # fmt: skip
_OVER_A_DIMENSION = SOFTMAXES | {"log_softmax", "logsumexp"}


@dataclass(slots=True, eq=False)
class Shaped:
    """An operation that gave a tensor its values.

    dim: over which a softmax ran. bounds: of what it can give. behind: what gave its input its values, if the range of
    that is bounded, or a logarithm of it. is_normalised_elsewhere: `logsumexp` of these values was taken.
    """

    operation: str
    place: Place | None
    shape: tuple[int, ...]
    dim: int | None = None
    bounds: tuple[float, float] = _UNBOUNDED
    behind: Shaped | None = None
    is_normalised_elsewhere: bool = False

    @property
    def is_bounded(self) -> bool:
        return self.bounds != _UNBOUNDED

    @property
    def depth(self) -> int:
        return 1 + (self.behind.depth if self.behind is not None else 0)

    @property
    def signature(self) -> tuple[object, ...]:
        """What two of them must have in common to be told of once."""
        return self.operation, self.place, self.dim, len(self.shape), self.behind and self.behind.signature

    def event(self) -> Shaping:
        low, high = self.bounds
        return Shaping(
            operation=self.operation,
            location=locate(self.place),
            shape=list(self.shape),
            dim=self.dim,
            low=low if math.isfinite(low) else None,
            high=high if math.isfinite(high) else None,
            behind=self.behind.event() if self.behind is not None else None,
        )


def shaped(
    name: str, args: Sequence[Any], kwargs: Mapping[str, Any], place: Place | None, output: torch.Tensor,
    before: Shaped | None, subtracted: Shaped | None = None,
) -> Shaped:  # fmt: skip
    """What an operation of this name made of an input that was shaped before.

    subtracted: what shaped the second input; a log-softmax may be written as the difference that it is.
    """
    operation = spelt(name).name
    if before is not None and operation in _KEEPS:
        return before
    if before is not None and before.is_bounded and (operation in _CLAMPS or _adds_epsilon(operation, args)):
        return before
    if before is not None and not before.is_bounded and (_scales(operation, args) or _adds_bias(operation, before)):
        return before
    if operation in DIFFERENCES and subtracted is not None and subtracted.operation == "logsumexp":
        operation, kwargs = "log_softmax", {"dim": subtracted.dim}
    behind = before if before is not None and (before.is_bounded or before.operation == "log") else None
    if behind is not None and behind.depth >= _MOST_BEHIND:
        behind = replace(behind, behind=None)
    takes_one = operation in _BOUNDS or operation in ("log", "hardtanh")
    return Shaped(
        operation,
        place,
        tuple(output.shape),
        softmax_dim(args, kwargs, output) if operation in _OVER_A_DIMENSION else None,
        _bounds(operation, kwargs),
        behind if takes_one else None,
    )


def _adds_epsilon(operation: str, args: Sequence[Any]) -> bool:
    return (
        operation in ("add", "__iadd__", "__radd__", "sub")
        and len(args) == 2
        and any(type(value) in (int, float) and abs(value) <= _EPSILON for value in args)
    )


def _scales(operation: str, args: Sequence[Any]) -> bool:
    """Whether a tensor is multiplied with a number, as scores are divided by a temperature."""
    return operation in PRODUCTS and len(args) == 2 and any(type(value) in (int, float) for value in args)


def _adds_bias(operation: str, before: Shaped) -> bool:
    """Whether something is added to a product of matrices, as a layer that is written by hand does."""
    return operation in ("add", "__iadd__", "__radd__") and before.operation in ("__matmul__", "matmul", "mm")


def softmax_dim(args: Sequence[Any], kwargs: Mapping[str, Any], output: torch.Tensor) -> int:
    """The dimension of a softmax; where none is given, torch takes the first of one or three, else the second."""
    dim = kwargs.get("dim", args[1] if len(args) > 1 else None)
    if isinstance(dim, list | tuple) and len(dim) == 1:
        dim = dim[0]
    if type(dim) is not int:
        return 0 if output.dim() in (0, 1, 3) else 1
    return dim % output.dim() if output.dim() else 0


def dim_in_view(shaped: Shaped, tensor: torch.Tensor) -> int | None:
    """Where the dimension of a softmax lies in a view of its result, told by strides; None if these do not tell."""
    base = tensor._base
    if shaped.dim is None or base is None or tuple(base.shape) != shaped.shape:
        return None
    if tensor.layout is not torch.strided or base.layout is not torch.strided:
        return None
    stride = base.stride()[shaped.dim]
    if base.stride().count(stride) > 1:
        return None
    found = [dim for dim, each in enumerate(tensor.stride()) if each == stride and tensor.shape[dim] > 1]
    return found[0] if len(found) == 1 else None


def _bounds(operation: str, kwargs: Mapping[str, Any]) -> tuple[float, float]:
    if operation == "hardtanh":
        return float(kwargs.get("min_val", -1.0)), float(kwargs.get("max_val", 1.0))
    return _BOUNDS.get(operation, _UNBOUNDED)
