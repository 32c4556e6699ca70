"""A few values of parameters: enough to see that all were written anew, of whatever shape and layout they are."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from autograd_doctor.reading.probes import probe

SHAPES = [torch.ones(()), torch.ones(1).expand(8), torch.empty(0, 3), torch.ones(2, 3, 4, 5), torch.ones(7)]


def test_weights_that_are_drawn_anew_show_at_both_ends() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
    before = probe(list(model.parameters()))
    for layer in model:
        layer.reset_parameters()
    assert all(new != old for new, old in zip(probe(list(model.parameters())), before, strict=True))


@pytest.mark.parametrize("parameter", SHAPES, ids=lambda tensor: str(tuple(tensor.shape)))
def test_any_shape_is_read(parameter: torch.Tensor) -> None:
    [values] = probe([parameter])
    assert values == (1.0,) * min(4, parameter.numel(), *parameter.shape[-1:])


def test_the_order_in_memory_does_not_matter() -> None:
    weight = torch.randn(4, 3, 5, 5)
    assert probe([weight]) == probe([weight.contiguous(memory_format=torch.channels_last)])


def test_of_nothing_nothing_is_known() -> None:
    assert probe([]) == []
