"""Ratios of a policy to itself before it has moved, and what differs where they are not 1."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import pytest
import torch
from torch import nn
from torch.distributions import Normal

from autograd_doctor.events.connectivity import FirstRatioSeen
from autograd_doctor.instruments.connectivity.first_ratios import FirstRatios
from tests.watching import watching

TIMES, ROWS = 6, 16


class Batch(NamedTuple):
    """states, actions: of shape (time, row, size). old: the log-probabilities, (time, row)."""

    states: torch.Tensor
    actions: torch.Tensor
    old: torch.Tensor


Change = Callable[[Batch], Batch]


def score(policy: nn.Module, states: torch.Tensor, actions: torch.Tensor) -> torch.Tensor:
    return Normal(policy(states), 0.5).log_prob(actions).sum(-1)


@torch.no_grad()
def rollout(policy: nn.Module, *, keeps_next: bool = False) -> Batch:
    states, steps = torch.randn(ROWS, 3), []
    for _ in range(TIMES):
        actions = Normal(policy(states), 0.5).sample()
        following = 0.8 * states + 0.5 * actions.sum(1, keepdim=True) + torch.randn(ROWS, 3)
        steps.append((following if keeps_next else states, actions, score(policy, states, actions)))
        states = following
    return Batch(*map(torch.stack, zip(*steps, strict=True)))


def told(
    change: Change,
    *,
    weighs: bool = True,
    keeps_next: bool = False,
    unshuffled: Sequence[str] = (),
    between: Callable[[nn.Module], None] | None = None,
) -> list[FirstRatioSeen]:
    """What is stated of two rollouts, each with three updates that take other rows."""
    torch.manual_seed(0)
    policy = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2))
    with watching(FirstRatios) as recorded:
        optimizer = torch.optim.SGD(policy.parameters(), lr=0.1)
        for _ in range(2):
            batch = change(rollout(policy, keeps_next=keeps_next))
            if between is not None:
                between(policy)
            for rows in torch.randperm(TIMES * ROWS).chunk(3):
                flat = {name: each.flatten(0, 1) for name, each in batch._asdict().items()}
                taken = [flat[name][: len(rows)] if name in unshuffled else flat[name][rows] for name in flat]
                states, actions, old = taken
                ratio = (score(policy, states, actions) - old).exp()
                gains = states[:, 0]
                optimizer.zero_grad()
                (-torch.min(ratio * gains, ratio.clamp(0.8, 1.2) * gains) if weighs else ratio).mean().backward()
                optimizer.step()
    assert not recorded.failures
    return recorded.of(FirstRatioSeen)


FAULTS = {
    "clipped": ("action", "clamp", lambda batch: batch._replace(actions=batch.actions.clamp(-0.3, 0.3))),
    "clipped in place": ("action", "clamp", lambda batch: batch._replace(actions=batch.actions.clamp_(-0.3, 0.3))),
    "scaled": ("action", "mul", lambda batch: batch._replace(actions=1 + 2.0 * batch.actions)),
    "standardised": (
        "input",
        "sub",
        lambda batch: batch._replace(states=(batch.states - 3) / batch.states.std((0, 1))),
    ),
    "by rows": ("order", "", lambda batch: batch._replace(old=batch.old.T.reshape(TIMES, ROWS))),
    "shifted": ("order", "", lambda batch: batch._replace(old=batch.old.roll(1, 0))),
}


@pytest.mark.parametrize(
    ("differs", "operation", "change"), [pytest.param(*each, id=name) for name, each in FAULTS.items()]
)
def test_what_differs(differs: str, operation: str, change: Change) -> None:
    (event,) = told(change)
    assert (event.step, event.differs, event.operation) == (0, differs, operation)
    assert event.ratios == TIMES * ROWS // 3 >= event.apart > event.ratios / 20
    assert event.parameters == [0, 1, 2, 3]
    assert event.location != event.reference_at
    assert (event.operation_at is None) == (not operation)


def test_states_of_the_next_step() -> None:
    (event,) = told(lambda batch: batch, keeps_next=True)
    assert event.differs == "order"


@pytest.mark.parametrize("unshuffled", [["old"], ["actions"], ["states"]], ids=" ".join)
def test_shuffles_that_leave_something_out(unshuffled: list[str]) -> None:
    (event,) = told(lambda batch: batch, unshuffled=unshuffled)
    assert event.differs == "order"


def opaque(batch: Batch) -> Batch:
    return batch._replace(actions=torch.tensor(batch.actions.clamp(-0.3, 0.3).numpy()))


RIGHT = {
    "as it was": lambda batch: batch,
    "hardly clipped": lambda batch: batch._replace(actions=batch.actions.clamp(-1.8, 1.8)),
    "noise": lambda batch: batch._replace(states=batch.states + torch.randn(TIMES, ROWS, 3)),
    "drawn number": lambda batch: batch._replace(states=batch.states * torch.rand(()).item() * 3),
    "mirrored": lambda batch: batch._replace(states=batch.states * -1, actions=batch.actions * -1),
    "not known": opaque,
    "other scores": lambda batch: batch._replace(old=1.3 * batch.old),
}


@pytest.mark.parametrize("change", [pytest.param(change, id=name) for name, change in RIGHT.items()])
def test_ratios_that_are_right_or_not_known(change: Change) -> None:
    assert not told(change)


def clipped(batch: Batch) -> Batch:
    return batch._replace(actions=batch.actions.clamp(-0.3, 0.3))


@torch.no_grad()
def move(policy: nn.Module) -> None:
    for parameter in policy.parameters():
        parameter.mul_(1.01)


def test_a_ratio_must_weigh_data_and_be_of_parameters_as_they_were() -> None:
    assert told(clipped)
    assert not told(clipped, weighs=False)
    assert not told(clipped, between=move)


def test_what_is_shuffled_on_purpose_says_nothing() -> None:
    assert not told(lambda batch: batch, unshuffled=["states", "actions", "old"])
    assert not told(
        lambda batch: batch._replace(actions=batch.actions[torch.randperm(TIMES)]), unshuffled=Batch._fields
    )
