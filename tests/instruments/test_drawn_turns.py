"""What inputs and targets are turned by, as a tape tells of it."""

from __future__ import annotations

from collections.abc import Callable
from unittest.mock import patch

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import affine_grid, avg_pool2d, binary_cross_entropy_with_logits, grid_sample, pad

from autograd_doctor.events.data import PairsMisaligned
from autograd_doctor.instruments.data.drawn_turns import DrawnTurns
from autograd_doctor.instruments.spine import detail
from tests.watching import watching

STEPS = 4
Pair = tuple[Tensor, Tensor]


def told(pair: Callable[[Tensor, Tensor], Pair]) -> list[PairsMisaligned]:
    """What is told of training on pictures and masks of them that went through this."""
    torch.manual_seed(0)
    pictures, net = torch.rand(20, 1, 6, 6), nn.Conv2d(1, 1, 3, padding=1)
    masks = (pictures > 0.5).float()
    with patch.multiple(detail, FIRST_STEPS=1000), watching(DrawnTurns) as events:
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(STEPS):
            rows = torch.randperm(20)[:8]
            inputs, targets = pair(pictures[rows], masks[rows])
            optimizer.zero_grad()
            binary_cross_entropy_with_logits(net(inputs), targets).backward()
            optimizer.step()
    assert not events.failures
    return events.of(PairsMisaligned)


def marks() -> Tensor:
    return torch.rand(8, 1, 1, 1) < 0.5


def chosen(x: Tensor) -> Tensor:
    return torch.where(marks(), x.flip(-1), x)


def written(x: Tensor) -> Tensor:
    x, some = x.clone(), marks().flatten()
    x[some] = x[some].rot90(1, (-2, -1))
    return x


def blended(x: Tensor) -> Tensor:
    share = marks().float()
    return share * x.transpose(-1, -2) + (1 - share) * x


def gathered(x: Tensor) -> Tensor:
    places = (torch.arange(6) + torch.randint(0, 6, (8, 1))) % 6
    return x.gather(-1, places[:, None, None].expand_as(x))


def picked(x: Tensor) -> Tensor:
    return x.index_select(-1, torch.randperm(6))


def indexed(x: Tensor) -> Tensor:
    return x[:, :, :, torch.randperm(6)]


def in_quarters(x: Tensor) -> Tensor:
    x, quarters = x.clone(), torch.randint(0, 4, (8,))
    for quarter in range(4):
        x[quarters == quarter] = torch.rot90(x[quarters == quarter], quarter, (-2, -1))
    return x


def by_distribution(x: Tensor) -> Tensor:
    return torch.where(torch.distributions.Bernoulli(0.5).sample((8, 1, 1, 1)) > 0, x.flip(-2), x)


def warped(x: Tensor) -> Tensor:
    theta = torch.eye(2, 3) + 0.1 * torch.randn(8, 2, 3)
    return grid_sample(x, affine_grid(theta, list(x.shape), align_corners=False), align_corners=False)


def noisy(x: Tensor) -> Tensor:
    return x + torch.rand_like(x)


@pytest.mark.parametrize(
    "turn", [chosen, written, blended, gathered, picked, indexed, in_quarters, by_distribution, warped]
)
def test_two_draws(turn: Callable[[Tensor], Tensor]) -> None:
    (event,) = told(lambda x, y: (turn(x), turn(y)))
    assert (event.steps, event.of, event.turned) == (STEPS, STEPS, True)
    assert event.input_at is not None
    assert event.target_at is not None
    assert event.input_at.line == event.target_at.line
    assert event.input_at.column < event.target_at.column


@pytest.mark.parametrize(
    "turn", [chosen, written, blended, gathered, picked, indexed, in_quarters, by_distribution, warped]
)
def test_draws_of_one_side_or_of_one_picture(turn: Callable[[Tensor], Tensor]) -> None:
    assert told(lambda x, y: (turn(x), y)) == []
    assert told(lambda x, y: (x, turn(y))) == []
    assert told(lambda x, y: (turn(x), turn(x))) == []
    assert told(lambda x, y: (turn(x), noisy(y))) == []
    assert told(lambda x, y: (turn(pad(x, (1, 1, 1, 1))[..., 1:-1, 1:-1]), turn(avg_pool2d(x, 3, 1, 1)))) == []


def test_two_ways_of_turning() -> None:
    (event,) = told(lambda x, y: (chosen(x), warped(y)))
    assert event.steps == STEPS


def test_one_draw() -> None:
    def together(x: Tensor, y: Tensor) -> Pair:
        both = marks()
        return torch.where(both, noisy(x).flip(-1), noisy(x)), torch.where(both, y.flip(-1), y)

    assert told(together) == []


def test_a_generator_that_is_put_back() -> None:
    def together(x: Tensor, y: Tensor) -> Pair:
        state = torch.get_rng_state()
        x = warped(x)
        torch.set_rng_state(state)
        return x, warped(y)

    assert told(together) == []


def test_a_model_that_is_told_of_the_targets_draw() -> None:
    def told_of(x: Tensor, y: Tensor) -> Pair:
        own = marks()
        return chosen(x) + own, torch.where(own, y.flip(-1), y)

    assert told(told_of) == []


def test_targets_that_were_matched() -> None:
    def matched(x: Tensor, y: Tensor) -> Pair:
        match = torch.tensor([[*range(6)]] * 8)
        return gathered(x), gathered(y).gather(-1, match[:, None, None].expand_as(y))

    assert told(matched) == []
