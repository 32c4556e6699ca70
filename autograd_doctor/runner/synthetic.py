"""Batches made up for model mode, from a generator of their own: the model's random numbers are not touched."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch

from autograd_doctor.plan import DataPlan, TensorPlan


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
        inputs = [(part.name, made_up(part, [plan.batch_size, *part.shape], generator)) for part in plan.inputs]
        targets = [(part.name, made_up(part, [plan.batch_size, *part.shape], generator)) for part in plan.targets]
        yield Batch(*_split(inputs), *_split(targets))


def made_up(plan: TensorPlan, shape: list[int], generator: torch.Generator) -> torch.Tensor:
    """A tensor of the planned dtype and values."""
    dtype: torch.dtype = getattr(torch, plan.dtype or ("float32" if plan.classes is None else "int64"))
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


def _split(parts: list[tuple[str, torch.Tensor]]) -> tuple[list[Any], dict[str, Any]]:
    return [value for name, value in parts if not name], {name: value for name, value in parts if name}
