"""A few values of some parameters: enough to see that all were written anew, at a cost that every step can bear."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from autograd_doctor.reading.tensor_facts import is_remote, readable

Probe = list[tuple[float, ...]]

_PARAMETERS = 4
_VALUES = 8


def probe(parameters: Sequence[torch.Tensor]) -> Probe:
    """The first values of some, from the first to the last, but not of those on an accelerator. Call it in a look."""
    positions = sorted({(len(parameters) - 1) * part // (_PARAMETERS - 1) for part in range(_PARAMETERS)})
    chosen = [parameters[position] for position in positions if parameters]
    return [_values(each) for each in chosen if readable(each) and not is_remote(each)]


def _values(parameter: torch.Tensor) -> tuple[float, ...]:
    """As they lie in memory, whatever the order of dimensions."""
    values = parameter.detach()
    return tuple(values.as_strided((min(_VALUES, values.numel()),), (1,)).tolist())
