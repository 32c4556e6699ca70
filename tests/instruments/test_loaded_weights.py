"""Parameters that have their values from a state that was loaded."""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
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


def saved(thing: object) -> object:
    """What comes back of a thing that was written to a file."""
    file = io.BytesIO()
    torch.save(thing, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


ARRAY = np.linspace(-1.0, 1.0, 12, dtype=np.float32).reshape(4, 3)


def copied(source: Callable[[], torch.Tensor]) -> Callable[[], nn.Module]:
    def build() -> nn.Module:
        layer = nn.Linear(3, 4, bias=False)
        with torch.no_grad():
            layer.weight.copy_(source())
        return layer

    return build


def behind_data(source: Callable[[], torch.Tensor]) -> Callable[[], nn.Module]:
    def build() -> nn.Module:
        layer = nn.Linear(3, 4, bias=False)
        layer.weight.data.copy_(source())
        return layer

    return build


def new_data(source: Callable[[], torch.Tensor]) -> Callable[[], nn.Module]:
    def build() -> nn.Module:
        layer = nn.Linear(3, 4, bias=False)
        layer.weight.data = source()
        return layer

    return build


def made_of(source: Callable[[], torch.Tensor]) -> Callable[[], nn.Module]:
    def build() -> nn.Module:
        layer = nn.Linear(3, 4, bias=False)
        layer.weight = nn.Parameter(source())
        return layer

    return build


def drawn_again() -> nn.Module:
    layer = nn.Linear(3, 4, bias=False)
    layer.load_state_dict({"weight": torch.ones(4, 3)})
    layer.reset_parameters()
    return layer


def from_file() -> torch.Tensor:
    weight = saved(torch.from_numpy(ARRAY))
    assert isinstance(weight, torch.Tensor)
    return weight


def by_the_storage() -> torch.Tensor:
    return torch.Tensor(4, 3).normal_()


def rows() -> torch.Tensor:
    table = torch.zeros(4, 3)
    for number, row in enumerate(ARRAY):
        table[number] = torch.from_numpy(row)
    return table


WAYS = [copied, behind_data, new_data, made_of]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "source",
    [
        pytest.param(lambda: torch.from_numpy(ARRAY).clone(), id="array"),
        pytest.param(lambda: torch.tensor(ARRAY), id="copy of an array"),
        pytest.param(lambda: torch.tensor(ARRAY.T.copy()).float().t().contiguous() * 2, id="turned"),
        pytest.param(from_file, id="file"),
        pytest.param(rows, id="row by row"),
    ],
)
def test_values_from_elsewhere(
    way: Callable[[Callable[[], torch.Tensor]], Callable[[], nn.Module]], source: Callable[[], torch.Tensor]
) -> None:
    assert loaded(way(source))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "source",
    [
        pytest.param(lambda: torch.randn(4, 3) * 0.02, id="drawn"),
        pytest.param(lambda: nn.init.orthogonal_(torch.empty(4, 3)), id="orthogonal"),
        pytest.param(by_the_storage, id="drawn in place"),
        pytest.param(lambda: torch.randn(4, 3) * torch.from_numpy(ARRAY), id="drawn and scaled by an array"),
        pytest.param(lambda: torch.ones(4, 3).mul_(0.5), id="filled"),
        pytest.param(lambda: torch.tensor([[0.5] * 3] * 4), id="written out"),
        pytest.param(lambda: nn.Linear(3, 4).weight.detach().clone(), id="of another layer"),
    ],
)
def test_values_that_the_program_begins_with(
    way: Callable[[Callable[[], torch.Tensor]], Callable[[], nn.Module]], source: Callable[[], torch.Tensor]
) -> None:
    assert not loaded(way(source))


def test_what_is_drawn_after_loading_is_not_loaded() -> None:
    assert not loaded(drawn_again)
    assert not loaded(lambda: nn.Linear(3, 4, bias=False))


def test_a_module_out_of_a_file() -> None:
    kept = nn.Linear(3, 4, bias=False)
    for found in (kept, {"model": kept, "epoch": 3}):
        assert loaded(partial(_read_back, found))


def _read_back(kept: object) -> nn.Module:
    found = saved(kept)
    module = found["model"] if isinstance(found, dict) else found
    assert isinstance(module, nn.Module)
    return module


def loaded(build: Callable[[], nn.Module]) -> bool:
    """Whether the layer that is built is told of."""
    with watching(*all_instruments()) as events:
        trained(build())
    return any(isinstance(event, WeightsLoaded) for event in events)
