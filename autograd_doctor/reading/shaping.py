"""Which operation gave a tensor its values: behind views, copies and all else that moves or hardly changes them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from autograd_doctor.events.losses import Shaping
from autograd_doctor.operations import DROPOUTS, PRODUCTS, SOFTMAXES, STATES
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.spelling import in_order, spelt, with_options

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
    "log_softmax": _NEGATIVE, "logsigmoid": _NEGATIVE, **dict.fromkeys(STATES, _BOTH),
}  # fmt: skip
_TOTALS = frozenset({"logsumexp", "sum"})
_LIMITS = {"clamp_max": "max", "clamp_min": "min"}
_REMEMBERS = _BOUNDS.keys() | {"hardtanh", "log", "neg"}
"""Operations behind which it matters what shaped their input."""


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
    before: Shaped | None, second: Shaped | None = None,
) -> Shaped:  # fmt: skip
    """What an operation of this name made of an input that was shaped before. second: what shaped the second input."""
    operation, given = spelt(name).name, in_order(name, args, kwargs)
    if before is not None and operation in _KEEPS:
        return before
    if before is not None and before.is_bounded and (operation in _CLAMPS or _adds_epsilon(operation, args)):
        return before
    if before is not None and not before.is_bounded and (_scales(operation, given) or _adds_bias(operation, before)):
        return before
    is_part = _is_part_of_fraction(operation, args, before)
    made = Shaped(
        operation,
        place,
        tuple(output.shape),
        _dim(operation, args, kwargs, output),
        _POSITIVE if is_part else _bounds(name, args, kwargs, before),
        _remembered(before) if is_part or operation in _REMEMBERS else None,
    )
    written = _written_out(operation, given, before, second)
    return made if written is None else replace(written, place=place, shape=made.shape)


def _remembered(before: Shaped | None) -> Shaped | None:
    if before is None or not (before.is_bounded or before.operation == "log"):
        return None
    return replace(before, behind=None) if before.depth >= _MOST_BEHIND else before


def _written_out(operation: str, given: Sequence[Any], before: Shaped | None, second: Shaped | None) -> Shaped | None:
    """A log-softmax that is written as a difference, a softmax as a share, and a sigmoid as a fraction."""
    if before is None:
        return None
    if operation == "sub" and second is not None and second.operation == "logsumexp":
        return _as("log_softmax", _remembered(before), second.dim)
    if before.operation == "add" and before.behind is not None and _is_one_over(operation, given):
        return _as("sigmoid", _without_minus(before.behind.behind))
    if operation != "div" or second is None or second.behind is not before or before.operation != "exp":
        return None
    if second.operation == "add":
        return _as("sigmoid", before.behind)
    dim, whole = second.dim, given[1]
    if second.operation == "sum" and dim is not None and dim < whole.dim() and whole.shape[dim] == 1:
        return _as("softmax", before.behind, dim)
    return None


def _as(operation: str, behind: Shaped | None, dim: int | None = None) -> Shaped:
    return Shaped(operation, None, (), dim, _BOUNDS[operation], behind)


def _without_minus(shaped: Shaped | None) -> Shaped | None:
    return shaped.behind if shaped is not None and shaped.operation == "neg" else shaped


def _is_part_of_fraction(operation: str, args: Sequence[Any], before: Shaped | None) -> bool:
    """Whether it sums exponentials up, or adds 1 to one."""
    if before is None or before.operation != "exp":
        return False
    return operation == "sum" or (operation == "add" and any(map(_is_one, args)))


def _is_one(given: Any) -> bool:
    return type(given) in (int, float) and given == 1


def _is_one_over(operation: str, given: Sequence[Any]) -> bool:
    if operation == "pow":
        return len(given) == 2 and type(given[1]) in (int, float) and given[1] == -1
    return operation == "reciprocal" or (operation == "div" and _is_one(given[0]))


def _adds_epsilon(operation: str, args: Sequence[Any]) -> bool:
    return (
        operation in ("add", "__iadd__", "__radd__", "sub")
        and len(args) == 2
        and any(type(value) in (int, float) and abs(value) <= _EPSILON for value in args)
    )


def _scales(operation: str, given: Sequence[Any]) -> bool:
    """Whether a tensor is multiplied with a number, as scores are divided by a temperature."""
    are_numbers = [type(value) in (int, float) for value in given]
    is_under_number = operation == "div" and are_numbers[:1] == [True]
    return operation in PRODUCTS and len(given) == 2 and any(are_numbers) and not is_under_number


def _adds_bias(operation: str, before: Shaped) -> bool:
    """Whether something is added to a product of matrices, as a layer that is written by hand does."""
    return operation in ("add", "__iadd__", "__radd__") and before.operation in ("__matmul__", "matmul", "mm")


def _dim(operation: str, args: Sequence[Any], kwargs: Mapping[str, Any], output: torch.Tensor) -> int | None:
    """The dimension of a softmax, or of a sum over one."""
    if operation in SOFTMAXES or operation == "log_softmax":
        return softmax_dim(args, kwargs, output)
    dim = kwargs.get("dim", args[1] if len(args) > 1 else None)
    dim = dim[0] if isinstance(dim, list | tuple) and len(dim) == 1 else dim
    return dim % args[0].dim() if operation in _TOTALS and type(dim) is int and args and args[0].dim() else None


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


def _bounds(name: str, args: Sequence[Any], kwargs: Mapping[str, Any], before: Shaped | None) -> tuple[float, float]:
    operation = spelt(name).name
    if operation == "hardtanh":
        return float(kwargs.get("min_val", -1.0)), float(kwargs.get("max_val", 1.0))
    if operation == "neg" and before is not None:
        low, high = before.bounds
        return -high, -low
    if operation not in _CLAMPS:
        return _BOUNDS.get(operation, _UNBOUNDED)
    options = with_options(name, args, kwargs)[1]
    if operation in _LIMITS:
        options = {_LIMITS[operation]: args[1] if len(args) > 1 else kwargs.get(_LIMITS[operation])}
    lowest, highest = (options.get(key) for key in ("min", "max"))
    return (
        float(lowest) if isinstance(lowest, int | float) else -math.inf,
        float(highest) if isinstance(highest, int | float) else math.inf,
    )
