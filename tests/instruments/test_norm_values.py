"""Frozen normalisations, and whether their weights stay as they are."""

from __future__ import annotations

import torch
from torch import nn

from autograd_doctor.instruments.connectivity.norm_values import NormValues
from tests.inventing import inventing


def frozen(size: int = 2) -> nn.BatchNorm1d:
    return nn.BatchNorm1d(size).requires_grad_(False)


def test_those_that_were_seen_with_other_values_are_told_of_for_good() -> None:
    with inventing(NormValues) as run:
        values, fixed, moving = run.find(NormValues), frozen(), frozen()
        assert values.changed([fixed, moving]) == []
        moving.bias.data += 1.0
        assert values.changed([fixed, moving]) == [moving]
        moving.bias.data -= 1.0
        assert values.changed([moving]) == [moving]
        assert values.changed([fixed]) == []


def test_those_that_learn_or_have_no_weights_are_not() -> None:
    with inventing(NormValues) as run:
        values, learning, plain = run.find(NormValues), nn.BatchNorm1d(2), nn.BatchNorm1d(2, affine=False)
        values.changed([learning, plain])
        with torch.no_grad():
            learning.weight.add_(1.0)
        assert values.changed([learning, plain]) == []


def test_those_that_are_frozen_as_they_are_built() -> None:
    with inventing(NormValues) as run:
        values, loaded, scaled = run.find(NormValues), frozen(), frozen()
        assert loaded.num_batches_tracked is not None
        loaded.num_batches_tracked.add_(90)
        scaled.weight.data.mul_(2.0)
        copied = frozen()
        copied.load_state_dict(nn.BatchNorm1d(2).state_dict())
        fresh, learning, plain = frozen(), nn.BatchNorm1d(2), nn.BatchNorm1d(2, affine=False)
        norms = [loaded, scaled, copied, fresh, learning, plain]
        for _ in range(3):
            for norm in norms:
                norm(torch.randn(4, 2))
            assert values.new(norms) == [fresh]
