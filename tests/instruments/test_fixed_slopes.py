"""Derivatives without a graph that are added to what has one."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.nn import functional

from autograd_doctor.events.connectivity import FixedSlopeAdded
from autograd_doctor.instruments.connectivity.fixed_slopes import FixedSlopes
from tests.watching import watching

Loss = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]


def told(loss: Loss, *, create_graph: bool = False) -> list[FixedSlopeAdded]:
    """What is stated in four steps of training by a loss of a prediction, its slope and the data."""
    net = nn.Sequential(nn.Linear(1, 4), nn.Tanh(), nn.Linear(4, 1))
    with watching(FixedSlopes) as recorded:
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        for _ in range(4):
            x = torch.rand(6, 1).requires_grad_()
            u = net(x)
            (slope,) = torch.autograd.grad(u.sum(), x, create_graph=create_graph, retain_graph=True)
            optimizer.zero_grad()
            loss(u, slope, x).mean().backward()
            optimizer.step()
    assert not recorded.failures
    return recorded.of(FixedSlopeAdded)


def test_it_is_told_in_two_steps_with_its_lines() -> None:
    events = told(lambda u, slope, x: (slope + u).square())
    assert [event.step for event in events] == [0, 1]
    first = events[0]
    assert first.operation == "add"
    assert len(first.parameters) == 4
    assert first.taken_at is not None
    assert first.added_at is not None
    assert first.added_at != first.taken_at


@pytest.mark.parametrize(
    "loss",
    [
        pytest.param(lambda u, slope, x: (0.5 * slope[:, :1] - u).square(), id="scaled"),
        pytest.param(lambda u, slope, x: (u - slope.reshape(-1, 1)).abs(), id="turned"),
        pytest.param(lambda u, slope, x: (slope - 1.0 + u).square(), id="after data"),
        pytest.param(lambda u, slope, x: (u * slope + slope - u).square(), id="beside a product"),
    ],
)
def test_what_is_done_to_it_before_does_not_matter(loss: Loss) -> None:
    assert told(loss)


@pytest.mark.parametrize(
    "loss",
    [
        pytest.param(lambda u, slope, x: (slope.detach() + u).square(), id="fixed on purpose"),
        pytest.param(lambda u, slope, x: functional.mse_loss(u, slope), id="a target"),
        pytest.param(lambda u, slope, x: (slope * u).square(), id="a weight"),
        pytest.param(lambda u, slope, x: (x + slope).square().sum() + u.square(), id="a move of data"),
        pytest.param(lambda u, slope, x: (x - 0.1 * slope - u).square(), id="data that were moved"),
        pytest.param(
            lambda u, slope, x: (x.detach().clone().sub_(slope) - u).square(), id="data that were moved in place"
        ),
        pytest.param(lambda u, slope, x: u.square() + 0.0 * (slope > 0), id="a choice"),
    ],
)
def test_other_uses_are_no_residuals(loss: Loss) -> None:
    assert not told(loss)


def test_with_a_graph_it_learns_as_well() -> None:
    assert not told(lambda u, slope, x: (slope + u).square(), create_graph=True)
