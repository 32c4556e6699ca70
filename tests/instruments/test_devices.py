"""On which devices the parameters are: said once, and again when that is different."""

from __future__ import annotations

import torch
from torch import nn

from autograd_doctor.events.subjects import DevicesUsed
from autograd_doctor.instruments.spine.devices import Devices
from autograd_doctor.instruments.spine.optimizers import Optimizers
from tests.watching import watching


def train(weight: nn.Parameter, optimizer: torch.optim.Optimizer, steps: int) -> None:
    for _ in range(steps):
        optimizer.zero_grad()
        weight.sum().backward()
        optimizer.step()


def test_it_is_said_before_the_first_step_and_once() -> None:
    weight = nn.Parameter(torch.ones(1))
    with watching(Optimizers, Devices) as events:
        train(weight, torch.optim.SGD([weight], lr=0.01), 20)
    assert not events.failures
    assert [(event.step, event.kinds) for event in events.of(DevicesUsed)] == [(0, ["cpu"])]


def test_parameters_on_another_device_are_told_of_too() -> None:
    weight = nn.Parameter(torch.ones(1))
    with watching(Optimizers, Devices) as events:
        optimizer = torch.optim.SGD([weight], lr=0.01)
        train(weight, optimizer, 2)
        elsewhere = torch.optim.SGD([nn.Parameter(torch.ones(1, device="meta"))], lr=0.01)
        train(weight, optimizer, 2)
        del elsewhere
    assert not events.failures
    assert [event.kinds for event in events.of(DevicesUsed)] == [["cpu"], ["cpu", "meta"]]
