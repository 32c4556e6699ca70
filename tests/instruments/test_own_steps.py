"""Optimizers of the program's own, and whether their steps look at gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from autograd_doctor.events.cycle import GradientsIgnored
from autograd_doctor.instruments.cycle.own_steps import OwnSteps
from tests.watching import watching


class Own(torch.optim.Optimizer):
    def __init__(self, parameters: Any, lr: float) -> None:
        super().__init__(parameters, {"lr": lr})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        for parameter in self.param_groups[0]["params"]:
            self.change(parameter)

    def change(self, parameter: torch.Tensor) -> None:
        parameter.mul_(0.9)


class Following(Own):
    def change(self, parameter: torch.Tensor) -> None:
        parameter.sub_(0.1 * parameter.grad)  # type: ignore[operator]


class LaterFollowing(Own):
    steps = 0

    def change(self, parameter: torch.Tensor) -> None:
        self.steps += 1
        parameter.sub_(0.1 * parameter.grad if self.steps > 2 else 0.0)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("kind", "steps", "ignored"),
    [(Own, 3, 1), (Own, 1, 0), (Following, 3, 0), (LaterFollowing, 3, 0), (torch.optim.SGD, 3, 0)],
)
def test_steps_that_look_at_no_gradient(kind: Callable[..., torch.optim.Optimizer], steps: int, ignored: int) -> None:
    layer = nn.Linear(3, 1)
    with watching(OwnSteps) as run:
        optimizer = kind(layer.parameters(), lr=0.1)
        for _ in range(steps):
            layer(torch.randn(4, 3)).sum().backward()
            optimizer.step()
            assert layer.weight.grad is not None
    assert len(run.of(GradientsIgnored)) == ignored
