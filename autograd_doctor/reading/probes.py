"""A few values of some parameters: enough to see that all were written anew, at a cost that every step can bear."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from autograd_doctor.reading.tensor_facts import is_remote, readable

Probe = list[tuple[float, ...]]

_VALUES = 4


def ends(parameters: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
    """The first and the last: what writes to all of them writes to these."""
    return (parameters[0], parameters[-1]) if len(parameters) > 1 else parameters


def probe(parameters: Sequence[torch.Tensor]) -> Probe:
    """The first values of both ends, but not of those on an accelerator. Call it in a look."""
    read = (each for each in ends(parameters) if readable(each) and not is_remote(each))
    return [tuple(first_values(each, _VALUES).tolist()) for each in read]


def first_values(parameter: torch.Tensor, count: int) -> torch.Tensor:
    """A view of the first ones of the first row, whatever the order in memory: at most so many."""
    values = parameter.detach()
    if not values.dim() or not values.numel():
        return values.reshape(-1)
    return values[(0,) * (values.dim() - 1) + (slice(count),)]
