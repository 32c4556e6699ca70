"""Numbers in the loss that are others for each optimizer that a line builds."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
import torch
from torch import nn

from autograd_doctor.events.cycle import FactorRenewed
from autograd_doctor.instruments.cycle.renewed_factors import RenewedFactors
from tests.watching import watching

Loss = Callable[[torch.Tensor, float], torch.Tensor]


def told(loss: Loss, rounds: Sequence[Sequence[float]]) -> list[tuple[int, float, float]]:
    """Of each round, with an optimizer of its own and a number for each step: optimizer, number before and after."""
    layer = nn.Linear(3, 3)
    with watching(RenewedFactors) as recorded:
        for numbers in rounds:
            optimizer = torch.optim.Adam(layer.parameters(), lr=0.01)
            for number in numbers:
                loss(layer(torch.randn(4, 3)), number).backward()
                optimizer.step()
                optimizer.zero_grad()
    return [(event.optimizer, event.before, event.after) for event in recorded.of(FactorRenewed)]


@pytest.mark.parametrize(
    "loss",
    [
        lambda p, w: p.square().mean() + w * p.abs().mean(),
        lambda p, w: p.square().mean() + p.abs().mean() * torch.tensor(w),
        lambda p, w: (2 * p).square().mean() * 3 + (w * p).exp().mean(),
    ],
    ids=["a number", "a tensor", "within"],
)
def test_a_number_that_each_optimizer_has_of_its_own(loss: Loss) -> None:
    assert told(loss, [[1.0, 1.0], [2.0, 2.0], [4.0, 4.0], [8.0, 8.0]]) == [(2, 2.0, 4.0), (3, 4.0, 8.0)]


@pytest.mark.parametrize(
    "rounds",
    [[[2.0, 2.0]] * 4, [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]], [[1.0, 1.0], [2.0, 2.0]]],
    ids=["the same for all", "another in each step", "one was replaced"],
)
def test_numbers_that_tell_nothing(rounds: Sequence[Sequence[float]]) -> None:
    assert not told(lambda p, w: p.square().mean() + w * p.abs().mean(), rounds)
