"""Bootstrapped targets with a graph to what chases them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.nn import functional

from autograd_doctor.events.losses import TargetLearned
from autograd_doctor.instruments.losses.moving_targets import MovingTargets
from tests.watching import watching

Loss = Callable[[nn.Module, torch.Tensor, torch.Tensor], torch.Tensor]


def told(loss: Loss, *, value: nn.Module | None = None) -> list[TargetLearned]:
    """What is stated in four steps of training a value by this loss of states and rewards."""
    value = value or nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1), nn.Flatten(0))
    with watching(MovingTargets) as recorded:
        optimizer = torch.optim.SGD(value.parameters(), lr=0.01)
        for _ in range(4):
            loss(value, torch.randn(5, 3), torch.randn(5)).mean().backward()
            optimizer.step()
            optimizer.zero_grad()
    return recorded.of(TargetLearned)


def test_it_is_told_in_two_steps_with_its_lines() -> None:
    def loss(value: nn.Module, state: torch.Tensor, reward: torch.Tensor) -> torch.Tensor:
        target = reward + 0.9 * value(state.flip(1))
        return functional.mse_loss(value(state), target)

    events = told(loss)
    assert [event.step for event in events] == [0, 1]
    first = events[0]
    assert first.comparison == "mse_loss"
    assert len(first.parameters) == 4
    assert first.target_at is not None
    assert first.compared_at is not None
    assert first.compared_at.line == first.target_at.line + 1


@pytest.mark.parametrize(
    "loss",
    [
        pytest.param(lambda v, s, r: (v(s) - (v(s + 1) * 0.9 + r)).square(), id="by hand"),
        pytest.param(lambda v, s, r: (r + 0.9 * v(s + 1) - v(s)).abs(), id="written out"),
        pytest.param(lambda v, s, r: functional.huber_loss(r + (r > 0).float() * 0.9 * v(s + 1), v(s)), id="masked"),
        pytest.param(lambda v, s, r: functional.mse_loss((r + 0.5 * v(s + 1)).clamp(-9, 9), v(s)), id="clamped"),
        pytest.param(lambda v, s, r: functional.mse_loss(v(s), r.sum().item() + 0.5 * v(s + 1)), id="numbers"),
    ],
)
def test_ways_to_write_it(loss: Loss) -> None:
    assert told(loss)


def by_lambda(value: nn.Module, states: torch.Tensor, rewards: torch.Tensor) -> torch.Tensor:
    values = value(states)
    carry, returns = values[-1], list[torch.Tensor]()
    for t in reversed(range(len(rewards) - 1)):
        carry = rewards[t] + 0.9 * (0.2 * values[t + 1] + 0.8 * carry)
        returns.append(carry)
    return functional.mse_loss(values[:-1], torch.stack(returns[::-1]))


def written_in_place(value: nn.Module, states: torch.Tensor, rewards: torch.Tensor) -> torch.Tensor:
    values, returns = value(states), torch.zeros(5)
    returns[4] = values[4]
    for t in (3, 2, 1, 0):
        returns[t] = rewards[t] + 0.9 * returns[t + 1]
    return (returns[:-1] - values[:-1]).square()


def from_a_list(value: nn.Module, states: torch.Tensor, rewards: torch.Tensor) -> torch.Tensor:
    values = [value(state[None]) for state in states]
    targets = [rewards[t] + 0.9 * values[t + 1] for t in range(4)]
    return functional.mse_loss(torch.cat(values[:-1]), torch.cat(targets))


@pytest.mark.parametrize(
    "loss",
    [
        pytest.param(lambda v, s, r: (r[1:] + 0.9 * (h := v(s))[1:] - h[:-1]).square(), id="sliced"),
        pytest.param(lambda v, s, r: (r + 0.9 * (h := v(s)).roll(-1) * (r < 1) - h).square(), id="rolled"),
        pytest.param(
            lambda v, s, r: (r + 0.9 * torch.cat([(h := v(s))[1:], torch.zeros(1)]) - h).square(), id="with a last one"
        ),
        pytest.param(
            lambda v, s, r: (torch.stack((h := v(s).unbind())[:4]) - (r[1:] + 0.9 * torch.stack(h[1:]))).abs(),
            id="unbound",
        ),
        pytest.param(
            lambda v, s, r: ((h := v(torch.cat([s, s + 1])).chunk(2))[0] - (r + 0.9 * h[1])).square(), id="halves"
        ),
        pytest.param(lambda v, s, r: (r[-1] + 0.9 * (h := v(s))[-1] - h[-2]).square(), id="of one moment"),
        by_lambda,
        written_in_place,
        from_a_list,
    ],
)
def test_both_may_be_parts_of_one_pass(loss: Loss) -> None:
    """That data are others than before is first seen in the second step."""
    assert [event.step for event in told(loss)] == [1, 2]


@pytest.mark.parametrize(
    "loss",
    [
        pytest.param(lambda v, s, r: (r[1:] + 0.9 * (h := v(s))[:-1] - h[1:]).square(), id="of what was before"),
        pytest.param(lambda v, s, r: (r[1:] + 0.9 * (h := v(s))[1:] - h[1:]).square(), id="of the same rows"),
        pytest.param(lambda v, s, r: (r + 0.9 * (h := v(s)).roll(1) - h).square(), id="rolled on"),
        pytest.param(lambda v, s, r: (r + 0.9 * (h := v(s)).flip(0) - h).square(), id="turned round"),
        pytest.param(lambda v, s, r: (r + 0.9 * (h := v(s)).sum() - h).square(), id="of all"),
        pytest.param(lambda v, s, r: (torch.arange(4) + 0.9 * (h := v(s))[1:] - h[:-1]).square(), id="on a grid"),
        pytest.param(
            lambda v, s, r: (r[2:4] + 0.5 * ((h := v(s))[3:] + h[1:3]) - h[2:4]).square(), id="of both neighbours"
        ),
        pytest.param(lambda v, s, r: (s[1:, 0] + 0.9 * (h := v(s))[1:] - h[:-1]).square(), id="of what it was given"),
        pytest.param(lambda v, s, r: (r[1:] + 0.9 * (h := v(s)).detach()[1:] - h[:-1]).square(), id="cut off"),
    ],
)
def test_residuals_within_one_pass(loss: Loss) -> None:
    assert told(loss) == []


def residual(value: nn.Module, state: torch.Tensor, reward: torch.Tensor) -> torch.Tensor:
    return functional.mse_loss(value(state), reward + 0.9 * value(state + 1))


@pytest.mark.parametrize(
    "loss",
    [
        pytest.param(lambda v, s, r: functional.mse_loss(v(s), (r + 0.9 * v(s + 1)).detach()), id="cut off"),
        pytest.param(lambda v, s, r: functional.mse_loss(v(s), r + 0.9 * v(s + 1).detach()), id="cut off before"),
        pytest.param(lambda v, s, r: functional.mse_loss(r + 0.5 * v(s), r + 0.9 * v(s + 1)), id="symmetric"),
        pytest.param(lambda v, s, r: functional.mse_loss(v(s), v(s + 1)), id="no data"),
        pytest.param(lambda v, s, r: functional.mse_loss(v(s), 1.0 + 0.9 * v(s + 1)), id="a constant"),
        pytest.param(lambda v, s, r: functional.mse_loss(v(s), r + 3.0 * v(s + 1)), id="scaled up"),
        pytest.param(lambda v, s, r: functional.mse_loss(r, r + 0.9 * v(s)), id="target of data"),
        pytest.param(lambda v, s, r: functional.mse_loss(h := v(s), r + 0.9 * h), id="the same pass"),
        pytest.param(lambda v, s, r: v(s).square() + 0 * (r + 0.9 * v(s + 1) - v(s)).detach(), id="for the eye"),
        pytest.param(lambda v, s, r: r + 0.9 * v(s + 1) - v(s), id="no size of it"),
        pytest.param(lambda v, s, r: residual(v, s, r) + (v(s * 2) - r).square().mean(), id="data say it, too"),
        pytest.param(lambda v, s, r: residual(v, s, r) + functional.l1_loss(r, v(s * 2)), id="by a loss"),
        pytest.param(lambda v, s, r: residual(v, s, r) + ((v(s) - r) * (r > 0)).abs().sum(), id="of some"),
    ],
)
def test_what_is_something_else(loss: Loss) -> None:
    assert told(loss) == []


def test_a_network_of_its_own_is_not_chased() -> None:
    other = nn.Sequential(nn.Linear(3, 1), nn.Flatten(0))
    assert told(lambda v, s, r: functional.mse_loss(v(s), r + 0.9 * other(s))) == []


@pytest.mark.parametrize(
    "loss",
    [
        pytest.param(lambda v, s, r: residual(v, s, r) + (v[:2](s).sum(1) - r).square().mean(), id="of some layers"),
        pytest.param(lambda v, s, r: residual(v, s, r) + 0 * (v(s) - r).square().detach().mean(), id="for the eye"),
        pytest.param(
            lambda v, s, r: residual(v, s, r) + (v(s) - v(s + 1).detach()).square().mean(), id="what it says itself"
        ),
    ],
)
def test_data_that_do_not_say_what_it_is_to_be(loss: Loss) -> None:
    assert told(loss)


@pytest.mark.parametrize("chance", [False, True])
def test_what_follows_may_be_no_chance(*, chance: bool) -> None:
    """Each of a few states comes several times in a batch."""

    def loss(value: nn.Module, state: torch.Tensor, reward: torch.Tensor) -> torch.Tensor:
        states, rewards = torch.eye(3), torch.tensor([0.5, 0.0, 1.0])
        here = torch.arange(24) % 3
        after = (here + (torch.arange(24) % 2 if chance else 1)) % 3
        return functional.mse_loss(value(states[here]), rewards[here] + 0.9 * value(states[after]))

    assert bool(told(loss)) is chance


def test_data_may_teach_in_a_later_backward() -> None:
    value = nn.Sequential(nn.Linear(3, 1), nn.Flatten(0))
    with watching(MovingTargets) as recorded:
        optimizer = torch.optim.SGD(value.parameters(), lr=0.01)
        for _ in range(3):
            state, reward = torch.randn(5, 3), torch.randn(5)
            residual(value, state, reward).backward()
            functional.mse_loss(value(state), reward).backward()
            optimizer.step()
            optimizer.zero_grad()
    assert recorded.of(TargetLearned) == []
