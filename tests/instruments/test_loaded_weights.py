"""Parameters that have their values from a state that was loaded."""

from __future__ import annotations

import torch
from torch import nn

from autograd_doctor.events.data import WeightsLoaded
from autograd_doctor.instruments.session import all_instruments
from tests.watching import watching


def trained(model: nn.Module, steps: int = 2) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        model(torch.randn(4, 3)).sum().backward()
        optimizer.step()


def test_what_a_state_gave_values_to() -> None:
    with watching(*all_instruments()) as events:
        model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
        model.load_state_dict({"0.weight": torch.ones(4, 3), "1.bias": torch.ones(2)}, strict=False)
        nn.Linear(3, 9).load_state_dict(nn.Linear(3, 9).state_dict())
        trained(model)
        model.load_state_dict(model.state_dict())
        trained(model)
    told = [(event.step, event.parameters) for event in events if isinstance(event, WeightsLoaded)]
    assert told == [(0, [0, 3]), (2, [0, 1, 2, 3])]


def test_what_is_loaded_last_is_told_at_the_end() -> None:
    with watching(*all_instruments()) as events:
        model = nn.Linear(3, 2)
        trained(model)
        model.load_state_dict(model.state_dict())
    assert [event.parameters for event in events if isinstance(event, WeightsLoaded)] == [[0, 1]]
