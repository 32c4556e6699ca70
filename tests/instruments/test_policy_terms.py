"""Entropies in losses of policies, and where they meet the other terms."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.distributions import Categorical

from autograd_doctor.events.losses import EntropyInLoss
from autograd_doctor.instruments.losses.policy_terms import PolicyTerms
from tests.watching import watching


def in_parts(gained: torch.Tensor, error: torch.Tensor, entropy: torch.Tensor) -> torch.Tensor:
    weighed = 0.1 * entropy
    return error + weighed - gained


def by_sum(gained: torch.Tensor, error: torch.Tensor, entropy: torch.Tensor) -> torch.Tensor:
    weights = {"gained": -1.0, "entropy": 0.1, "error": 1.0}
    parts = {"gained": gained, "error": error, "entropy": entropy}
    return sum((weight * parts[name] for name, weight in weights.items()), torch.zeros(()))


def in_place(gained: torch.Tensor, error: torch.Tensor, entropy: torch.Tensor) -> torch.Tensor:
    total = error - gained
    total += 0.1 * entropy
    return total


def of_two(gained: torch.Tensor, error: torch.Tensor, entropy: torch.Tensor) -> torch.Tensor:
    both = entropy + 0.5 * entropy
    return torch.stack([-gained, both, error]).sum()


@pytest.mark.parametrize(("combine", "line"), [(in_parts, 2), (by_sum, 3), (in_place, 2), (of_two, 2)])
def test_where_an_entropy_meets_the_other_terms(combine: Callable[..., torch.Tensor], line: int) -> None:
    torch.manual_seed(0)
    scores, guessed = nn.Parameter(torch.randn(8, 3)), nn.Parameter(torch.zeros(8))
    with watching(PolicyTerms) as recorded:
        choices = Categorical(logits=scores)
        came = torch.arange(8.0)
        gained = (choices.log_prob(choices.sample()) * came).mean()
        combine(gained, (guessed - came).square().mean(), choices.entropy().mean()).backward()
    events = recorded.of(EntropyInLoss)
    added_at = {event.added_at.line for event in events if event.added_at is not None}
    assert [event.minimised for event in events] == [True] * len(events)
    assert added_at == {combine.__code__.co_firstlineno + line}
