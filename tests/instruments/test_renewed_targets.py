"""Models that give targets, and are others for each optimizer that a line builds."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest
import torch
from torch import nn

from autograd_doctor.events.cycle import TargetRenewed
from autograd_doctor.instruments.cycle.renewed_targets import RenewedTargets
from tests.watching import watching

Renew = Callable[[nn.Module, nn.Module], nn.Module]


def by_copy(target: nn.Module, model: nn.Module) -> nn.Module:
    return copy.deepcopy(model)


def by_load(target: nn.Module, model: nn.Module) -> nn.Module:
    target.load_state_dict(model.state_dict())
    return target


def never(target: nn.Module, model: nn.Module) -> nn.Module:
    return target


def told(renew: Renew, *, follows: bool = False, often: bool = True) -> list[int]:
    """The optimizers for which a target was another one, of four."""
    model, target = nn.Linear(3, 3), nn.Linear(3, 3)
    with watching(RenewedTargets) as recorded:
        for _ in range(4):
            target = renew(target, model)
            optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
            for step in range(3):
                x, goal = torch.randn(4, 3), torch.zeros(4, 3)
                if often or step == 2:
                    with torch.no_grad():
                        goal = target(x) + 1
                (model(x) - goal).square().mean().backward()
                optimizer.step()
                optimizer.zero_grad()
                if follows:
                    with torch.no_grad():
                        target.weight.lerp_(model.weight, 0.1)
    return [event.optimizer for event in recorded.of(TargetRenewed)]


@pytest.mark.parametrize("renew", [by_copy, by_load])
def test_a_target_of_each_optimizer(renew: Renew) -> None:
    assert told(renew) == [2, 3]


def test_models_that_are_no_targets_of_one_optimizer() -> None:
    assert not told(never)
    assert not told(by_load, follows=True)
    assert not told(by_copy, often=False)
