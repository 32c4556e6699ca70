"""Ratios of a policy to itself, and whether the data were used before."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import nn

from autograd_doctor.events.connectivity import RatioOfItself
from autograd_doctor.instruments.connectivity.own_ratios import OwnRatios
from tests.watching import watching

Loss = Callable[[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]
"""Of log-probabilities that have a graph, the same anew, those with which actions were drawn, and gains."""
STEPS = 6


def picked(policy: nn.Module, states: torch.Tensor, actions: torch.Tensor) -> torch.Tensor:
    scores: torch.Tensor = policy(states)
    return scores.log_softmax(1).gather(1, actions[:, None]).squeeze(1)


def clipped(ratio: torch.Tensor, gains: torch.Tensor) -> torch.Tensor:
    return -torch.min(ratio * gains, ratio.clamp(0.8, 1.2) * gains).mean()


def told(loss: Loss, *, parts: int = 1, one_pass: bool = False) -> list[RatioOfItself]:
    """What is stated in a few updates on one draw, in shuffled parts of it; one_pass: or on one for each pass."""
    policy = nn.Linear(4, 3)
    with watching(OwnRatios) as recorded:
        optimizer = torch.optim.SGD(policy.parameters(), lr=0.5)
        for step in range(STEPS):
            if step == 0 or (one_pass and step % parts == 0):
                states = torch.randn(24, 4)
                with torch.no_grad():
                    actions = torch.multinomial(policy(states).softmax(1), 1).squeeze(1)
                    drawn_with = picked(policy, states, actions)
            if step % parts == 0:
                order = torch.randperm(24).chunk(parts)
            rows = order[step % parts]
            now = picked(policy, states[rows], actions[rows])
            with torch.no_grad():
                anew = picked(policy, states[rows], actions[rows])
            optimizer.zero_grad()
            loss(now, anew, drawn_with[rows], states[rows, 0]).backward()
            optimizer.step()
    assert not recorded.failures
    return recorded.of(RatioOfItself)


OWN = {
    "anew": lambda now, anew, old, gains: clipped((now - anew).exp(), gains),
    "detached": lambda now, anew, old, gains: clipped(torch.exp(now - now.detach()), gains),
    "quotient": lambda now, anew, old, gains: -(now.exp() / anew.exp() * gains).mean(),
    "weight": lambda now, anew, old, gains: -((now.detach() - anew).exp() * gains * now).mean(),
    "of sequences": lambda now, anew, old, gains: clipped((now - anew).view(-1, 2).sum(1).exp(), gains[::2]),
}


@pytest.mark.parametrize("loss", [pytest.param(loss, id=name) for name, loss in OWN.items()])
def test_a_ratio_of_what_is_computed_anew(loss: Loss) -> None:
    events = told(loss)
    assert [event.step for event in events] == [1, 2, 3, 4]
    assert all(event.own and len(event.parameters) == 2 for event in events)


def test_parts_of_a_draw_are_old_in_the_second_pass() -> None:
    assert [event.step for event in told(OWN["anew"], parts=3)] == [3, 4, 5]
    assert not told(OWN["anew"], parts=3, one_pass=True)


@pytest.mark.parametrize(
    "loss",
    [
        pytest.param(lambda now, anew, old, gains: clipped((now - old).exp(), gains), id="to the draw"),
        pytest.param(lambda now, anew, old, gains: -(torch.exp(now - now.detach()) * gains).mean(), id="estimator"),
        pytest.param(lambda now, anew, old, gains: (now.exp() / now.exp().detach() * gains).mean(), id="normalised"),
        pytest.param(lambda now, anew, old, gains: -(now * gains).mean() + (now - anew).exp().mean(), id="no weight"),
        pytest.param(lambda now, anew, old, gains: clipped((now - 0.9 * anew).exp(), gains), id="not equal"),
        pytest.param(
            lambda now, anew, old, gains: (
                -((now.detach() - old).exp() * (now - now.detach()).exp().clamp(0.8, 1.2) * gains).mean()
            ),
            id="corrected",
        ),
    ],
)
def test_ratios_that_are_as_they_should_be(loss: Loss) -> None:
    assert not told(loss)


def test_a_ratio_that_is_another_one_later_is_told_as_such() -> None:
    steps = iter(range(STEPS))
    events = told(lambda now, anew, old, gains: clipped((now - (anew if next(steps) < 3 else old)).exp(), gains))
    assert [event.own for event in events] == [True, True, False]


def test_what_was_kept_is_not_computed_anew_by_taking_a_part_of_it() -> None:
    policy, states, actions = nn.Linear(4, 3), torch.randn(16, 4), torch.arange(16) % 3
    kept = picked(policy, states, actions).detach()
    with watching(OwnRatios) as recorded:
        optimizer = torch.optim.SGD(policy.parameters(), lr=0.0)
        for _ in range(STEPS):
            ratio = (picked(policy, states, actions)[:12] - kept[:12]).exp()
            optimizer.zero_grad()
            clipped(ratio, states[:12, 0]).backward()
            optimizer.step()
    assert not recorded.failures
    assert not recorded.of(RatioOfItself)


def learned(actions: Callable[[nn.Module, torch.Tensor], torch.Tensor]) -> list[RatioOfItself]:
    """What is stated where actions for the same states are taken in each step."""
    policy, states = nn.Linear(4, 3), torch.randn(16, 4)
    with watching(OwnRatios) as recorded:
        optimizer = torch.optim.SGD(policy.parameters(), lr=0.5)
        for _ in range(STEPS):
            now = picked(policy, states, actions(policy, states))
            optimizer.zero_grad()
            clipped((now - now.detach()).exp(), states[:, 0]).backward()
            optimizer.step()
    assert not recorded.failures
    return recorded.of(RatioOfItself)


ACTIONS = np.arange(16) % 3


@pytest.mark.parametrize(
    "actions",
    [
        pytest.param(lambda policy, states: torch.multinomial(torch.ones(16, 3), 1).squeeze(1), id="drawn"),
        pytest.param(lambda policy, states: policy(states).argmax(1), id="chosen"),
        pytest.param(lambda policy, states: torch.from_numpy(ACTIONS.copy()), id="of an array"),
    ],
)
def test_actions_of_the_step_are_new(actions: Callable[[nn.Module, torch.Tensor], torch.Tensor]) -> None:
    assert not learned(actions)


def test_an_array_that_is_written_over_holds_new_actions() -> None:
    array = ACTIONS.copy()
    shared = torch.from_numpy(array)
    assert learned(lambda policy, states: shared)
    assert not learned(lambda policy, states: (np.copyto(array, np.roll(array, 1)), shared)[1])
