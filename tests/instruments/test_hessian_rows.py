"""Second derivatives of several columns at once."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

from autograd_doctor.events.losses import HessianRowsSummed
from autograd_doctor.instruments.losses.hessian_rows import HessianRows
from tests.watching import watching

Bend = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def gradient(of: torch.Tensor, by: torch.Tensor, seed: torch.Tensor | None = None) -> torch.Tensor:
    seed = torch.ones_like(of) if seed is None else seed
    (found,) = torch.autograd.grad(of, by, seed, create_graph=True)
    return found


def told(bend: Bend, *, hooked: bool = False, before: nn.Module | None = None) -> list[HessianRowsSummed]:
    """What is stated in four steps with a term of the slope and the points that it was taken by."""
    net = nn.Sequential(*[before] if before is not None else [], nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 1))
    with watching(HessianRows) as recorded:
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        for _ in range(4):
            points = torch.rand(8, 3).requires_grad_()
            if hooked:
                points.register_hook(lambda found: found)
            u = net(points)
            slope = gradient(u, points)
            optimizer.zero_grad()
            (u.square().mean() + bend(slope, points).square().mean()).backward()
            optimizer.step()
    assert not recorded.failures
    return recorded.of(HessianRowsSummed)


@pytest.mark.parametrize(
    "bend",
    [
        pytest.param(lambda slope, x: gradient(slope, x).sum(1), id="summed up"),
        pytest.param(lambda slope, x: gradient(slope.sum(), x)[:, :1], id="a column of that of the sum"),
        pytest.param(lambda slope, x: -0.5 * gradient(slope.sum(1), x).mean(-1), id="weighed"),
        pytest.param(lambda slope, x: gradient(slope, x).unbind(1)[2], id="unbound"),
    ],
)
def test_rows_that_are_taken_for_second_derivatives(bend: Bend) -> None:
    events = told(bend)
    assert [event.step for event in events] == [0, 1]
    first = events[0]
    assert first.shape == [8, 3]
    assert first.mixed > 0
    assert first.taken_at is not None
    assert first.location is not None
    assert first.location != first.taken_at, "the line of a helper"
    assert first.used_at is not None


@pytest.mark.parametrize(
    "bend",
    [
        pytest.param(lambda slope, x: gradient(slope[:, :1], x)[:, :1], id="a column"),
        pytest.param(lambda slope, x: gradient(slope[:, 0].sum(), x).sum(1), id="the sum of a column"),
        pytest.param(lambda slope, x: gradient(slope, x, torch.randn_like(slope)).sum(1), id="a drawn vector"),
        pytest.param(lambda slope, x: gradient(slope, x).norm(dim=1), id="a penalty"),
        pytest.param(lambda slope, x: gradient(slope, x)[2:], id="some points"),
        pytest.param(lambda slope, x: slope.sum(1), id="a first derivative"),
        pytest.param(lambda slope, x: gradient(slope.square(), x).sum(1), id="that of squares"),
    ],
)
def test_what_holds_no_mixed_derivatives_or_is_not_taken_apart(bend: Bend) -> None:
    assert not told(bend)


def test_it_is_not_looked_at_where_hooks_would_notice() -> None:
    assert not told(lambda slope, x: gradient(slope, x).sum(1), hooked=True)


def test_a_function_of_one_coordinate_has_no_mixed_derivatives() -> None:
    class First(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * torch.tensor([1.0, 0.0, 0.0])

    assert not told(lambda slope, x: gradient(slope, x).sum(1), before=First())
