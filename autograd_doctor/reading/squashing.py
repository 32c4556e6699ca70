"""Activations with flat parts: which units of a rectifier are active, and how much of a squashing function is flat."""

from __future__ import annotations

from typing import Any

import torch

from autograd_doctor.reading.graph_walk import operation_of
from autograd_doctor.reading.layers import weights_of

Node = Any

RECTIFIERS = frozenset({"clamp", "clamp_", "clamp_min", "clamp_min_", "clip", "clip_", "relu", "relu_", "relu6"})
"""What is one, or may be: a limit of 0 from below."""
SQUASHERS = frozenset({"sigmoid", "tanh", "softmax"})

_FLAT = 1e-3
"""Where the slope of sigmoid (at most 1/4) or of tanh (at most 1) is less."""
_LEFT_OVER = 1e-2
"""Where one entry of a softmax leaves the others together less: all its slopes are less, too."""
_MASKED = -1e9
"""Scores below are those of a mask."""
_PASSED = frozenset({
    "Add", "CudnnBatchNorm", "NativeBatchNorm", "NativeDropout", "NativeGroupNorm", "NativeLayerNorm", "ReshapeAlias",
    "Squeeze", "Sub", "ToCopy", "UnsafeView", "Unsqueeze", "View",
})  # fmt: skip
"""What may lie between a layer and its activation."""
_MOST_NODES = 12
"""Nodes to visit between an activation and its layer: a normalisation, a reshape and a sum."""


def weights_before(activation: Node) -> tuple[tuple[torch.Tensor, ...], bool]:
    """The matrices of weights of the layer that an activation, told by its node, follows, and whether that is a
    convolution."""
    pending = [source for source, _ in activation.next_functions] if activation is not None else []
    for _ in range(_MOST_NODES):
        node = pending.pop(0) if pending else None
        if node is None:
            continue
        weights = weights_of(node)
        if weights:
            return weights, operation_of(node).endswith("Convolution")
        if operation_of(node) in _PASSED:
            pending.extend(source for source, _ in node.next_functions)
    return (), False


def is_rectifier(activation: Node) -> bool:
    """Whether what belongs to this node, and has the name of one, gives 0 for what is below."""
    lowest = getattr(activation, "_saved_min", None) if operation_of(activation).startswith("Clamp") else 0
    return type(lowest) in (int, float) and lowest == 0


def is_sharpened(activation: Node) -> bool:
    """Whether the program made its input larger by a single number right before: one that is to be nearly a step.

    The number may be a constant, or learn how sharp that step is to be.
    """
    node = activation.next_functions[0][0] if activation is not None else None
    if node is None or operation_of(node) not in ("Mul", "Div"):
        return False
    by_product = operation_of(node) == "Mul"
    try:
        factors = [getattr(node, name, None) for name in ("_saved_other", "_saved_self")[: 1 + by_product]]
    except RuntimeError:  # it was changed in place since, and autograd does not show it any more
        return False
    number = next((each for each in factors if each is not None and torch.as_tensor(each).numel() == 1), None)
    return number is not None and (abs(float(number)) > 1 if by_product else abs(float(number)) < 1)


def active_units(output: torch.Tensor, *, channels: bool) -> torch.Tensor:
    """Per unit, whether it is active on some sample: a vector of truth values, as long as the layer has units."""
    unit = 1 if channels and output.dim() > 2 else output.dim() - 1
    others = [dimension for dimension in range(output.dim()) if dimension != unit]
    active = ~(output <= 0)  # values that are not finite are none that died
    return active.any(dim=tuple(others)) if others else active


def certain_rows(weights: torch.Tensor, dimension: int) -> torch.Tensor:
    """Which rows of a softmax have one entry that leaves the others next to nothing."""
    return weights.amax(dim=dimension) > 1 - _LEFT_OVER


def _with_a_choice(scores: torch.Tensor, dimension: int) -> torch.Tensor:
    """Which rows of scores have two entries at least that no mask takes out, as the first of a causal mask has not."""
    lowest = max(_MASKED, torch.finfo(scores.dtype).min / 2)
    return (scores > lowest).sum(dim=dimension) > 1


def flatness(operation: str, output: torch.Tensor, given: torch.Tensor) -> torch.Tensor | None:
    """How many values (rows, of a softmax) are flat, how many of these lie at the lower limit, and how many there are.

    None for a softmax along a dimension of one entry, or where it cannot be told which dimension it ran along. Rows of
    which a mask leaves one entry are not counted.
    """
    if operation == "softmax":
        dimension = getattr(output.grad_fn, "_saved_dim", None)
        if dimension is None:
            return None
        dimension -= 2**64 if dimension >= 2**63 else 0
        if output.shape[dimension] < 2:
            return None
        counted = _with_a_choice(given, dimension)
        flat = certain_rows(output, dimension) & counted
        return torch.stack([flat.sum(), torch.zeros_like(flat.sum()), counted.sum()])
    slope = output * (1 - output) if operation == "sigmoid" else 1 - output.square()
    flat = slope < _FLAT
    middle = 0.5 if operation == "sigmoid" else 0.0
    return torch.stack([flat.sum(), (flat & (output < middle)).sum(), torch.full_like(flat.sum(), flat.numel())])
