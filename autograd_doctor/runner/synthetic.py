"""Batches made up for model mode, from a generator of their own: the model's random numbers are not touched.

Targets follow from the inputs, so that there is something to learn: each is a function of the values about the same
place of its sample.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch.nn.functional import interpolate

from autograd_doctor.plan import DataPlan, TensorPlan

_KINDS = 4096
"""Whole numbers that stand for different things to a target; larger ones repeat these."""


class Batch(NamedTuple):
    """What a model is called with, and what its output is compared with; named tensors are passed by keyword."""

    inputs: list[torch.Tensor]
    named_inputs: dict[str, torch.Tensor]
    targets: list[torch.Tensor]
    named_targets: dict[str, torch.Tensor]


def batches(plan: DataPlan) -> Iterator[Batch]:
    """The planned number of different batches, always the same ones."""
    generator = torch.Generator().manual_seed(0)
    for _ in range(plan.batches):
        inputs = [(part.name, made_up(part, whole_shape(part, plan.batch_size), generator)) for part in plan.inputs]
        given = [value for _, value in inputs]
        sources = [_batch_first(part, value) for part, value in zip(plan.inputs, given, strict=True)]
        targets = [(part.name, _target(part, plan.batch_size, given, sources)) for part in plan.targets]
        yield Batch(*_split(inputs), *_split(targets))


def whole_shape(plan: TensorPlan, batch_size: int) -> list[int]:
    """The shape of a batch."""
    if plan.batch_axis is None:
        return list(plan.shape)
    return [*plan.shape[: plan.batch_axis], batch_size, *plan.shape[plan.batch_axis :]]


def made_up(plan: TensorPlan, shape: list[int], generator: torch.Generator) -> torch.Tensor:
    """A tensor of the planned dtype and values."""
    dtype = _dtype(plan)
    if plan.classes is not None:
        return torch.randint(plan.classes, shape, generator=generator).to(dtype)
    if plan.range is not None:
        low, high = plan.range
        if dtype.is_floating_point:
            return (torch.rand(shape, generator=generator) * (high - low) + low).to(dtype)
        return torch.randint(int(low), int(high) + 1, shape, generator=generator).to(dtype)
    if dtype.is_floating_point or dtype.is_complex:
        return torch.randn(shape, generator=generator).to(dtype)
    return torch.randint(2, shape, generator=generator).to(dtype)


def _dtype(plan: TensorPlan) -> torch.dtype:
    dtype: torch.dtype = getattr(torch, plan.dtype or ("float32" if plan.classes is None else "int64"))
    return dtype


def _target(plan: TensorPlan, batch_size: int, given: list[torch.Tensor], sources: list[torch.Tensor]) -> torch.Tensor:
    """An input itself, or a function of all of them."""
    if plan.input is not None:
        return given[plan.input]
    signal = _signal(sources, plan, batch_size)
    share: torch.Tensor = torch.special.ndtr(signal)
    dtype = _dtype(plan)
    if plan.classes is not None:
        return (share * plan.classes).long().clamp(0, plan.classes - 1).to(dtype)
    if plan.range is not None:
        low, high = plan.range
        whole = (share * (high - low + 1) + low).floor().clamp(max=high)
        return (share * (high - low) + low if dtype.is_floating_point else whole).to(dtype)
    return signal.to(dtype) if dtype.is_floating_point or dtype.is_complex else (signal > 0).to(dtype)


def _signal(sources: Sequence[torch.Tensor], plan: TensorPlan, batch_size: int) -> torch.Tensor:
    """Numbers about as large as normal ones, in the shape of a target, from the values of the inputs."""
    shape = whole_shape(plan, batch_size)
    axis = plan.batch_axis or 0
    rows = shape[axis] if shape else 1
    places = math.prod(shape) // max(rows, 1)
    total = torch.zeros(rows, places)
    for source in sources:
        if source.shape[0] == rows and source.numel():
            total += _stretched(_numbers(source).reshape(rows, -1), places)
    total = (total - total.mean()) / total.std().clamp(min=1e-6) if total.numel() > 1 else total
    return total.reshape(rows, *shape[:axis], *shape[axis + 1 :]).movedim(0, axis) if shape else total.reshape(())


def _stretched(values: torch.Tensor, places: int) -> torch.Tensor:
    """As many values for each sample as there are places; a single one is a sum of all with different weights."""
    if places == 1 and values.shape[1] > 1:
        return values @ torch.linspace(-1, 1, values.shape[1])[:, None] / math.sqrt(values.shape[1])
    return interpolate(values[:, None], size=places, mode="nearest")[:, 0]


def _numbers(values: torch.Tensor) -> torch.Tensor:
    """Whole numbers become normal ones, each always the same."""
    if values.dtype.is_complex:
        return values.real.float()
    if values.dtype.is_floating_point:
        return values.float()
    table = torch.randn(_KINDS, generator=torch.Generator().manual_seed(1))
    return table[values.long() % _KINDS]


def _batch_first(plan: TensorPlan, value: torch.Tensor) -> torch.Tensor:
    return value.movedim(plan.batch_axis, 0) if plan.batch_axis else value


def _split(parts: list[tuple[str, torch.Tensor]]) -> tuple[list[Any], dict[str, Any]]:
    return [value for name, value in parts if not name], {name: value for name, value in parts if name}
