"""What the arguments of a loss say: which is the prediction, which the target, and where the classes are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch


def operands_of(args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[torch.Tensor, torch.Tensor] | None:
    """The prediction and the target of a loss function, None where they are no tensors."""
    prediction = args[0] if args else kwargs.get("input")
    target = args[1] if len(args) > 1 else kwargs.get("target")
    if isinstance(prediction, torch.Tensor) and isinstance(target, torch.Tensor):
        return prediction, target
    return None


def usual_class_dim(name: str, prediction: torch.Tensor) -> int | None:
    """The dimension that a loss function takes for that of the classes; where it knows none, it is the last."""
    if not prediction.dim():
        return None
    last = prediction.dim() - 1
    return min(1, last) if name in ("cross_entropy", "nll_loss") else last


def picked_classes(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[int, torch.Tensor] | None:
    """The dimension in which each row has one of its values picked, and the indices of these.

    A key that leaves dimensions open picks whole rows, as the distribution of one action among those of all.
    """
    source = args[0]
    if name == "__getitem__":
        key = args[1]
        if not isinstance(key, tuple) or not 1 < len(key) == source.dim() or not all(map(_is_index, key)):
            return None
        return len(key) - 1, key[-1]
    index = kwargs.get("index", kwargs.get("indices", next((value for value in args[1:] if _is_index(value)), None)))
    dim = kwargs.get("dim", next((value for value in args[1:] if type(value) is int), None))
    return (dim % source.dim(), index) if type(dim) is int and _is_index(index) and source.dim() else None


def picks_rows(source: torch.Tensor, dim: int, index: torch.Tensor) -> bool:
    """Whether one index goes for all that lies along another dimension, so that rows are picked rather than values."""
    if index.dim() != source.dim():
        return False
    others = (other for other in range(1, source.dim()) if other != dim and source.shape[other] > 1)
    return any(index.stride(other) == 0 or torch.equal(index, _first(index, other)) for other in others)


def _first(index: torch.Tensor, dim: int) -> torch.Tensor:
    """The first entries along a dimension, repeated to its size."""
    return index.narrow(dim, 0, 1).expand_as(index)


def _is_index(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.dtype in (torch.int32, torch.int64) and value.dim() > 0


def is_in_order(target: torch.Tensor) -> bool:
    """Whether the rows have the classes 0, 1, 2 …: each row is a class of its own."""
    rows = target.squeeze()
    return rows.dim() == 1 and torch.equal(rows, torch.arange(len(rows), device=rows.device, dtype=rows.dtype))
