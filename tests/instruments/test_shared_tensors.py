"""The line that wrote into one tensor which stands for two views."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

from autograd_doctor.events.data import TwinPasses
from autograd_doctor.instruments.data.twin_passes import TwinPassesSeen
from tests.watching import watching

Batches = Iterable[tuple[torch.Tensor, torch.Tensor]]


def noisy(x: torch.Tensor) -> torch.Tensor:
    return x.add_(torch.randn_like(x))


class Pairs(Dataset[Any]):
    def __init__(self, make: Callable[[torch.Tensor], Any]) -> None:
        self.rows, self.make = torch.randn(40, 6), make

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> Any:
        row = self.rows[index].clone()
        return self.make(row)  # the line


def lines(batches: Callable[[], Batches]) -> set[str]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 4))
    with watching(TwinPassesSeen) as events:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for one, other in batches():
            optimizer.zero_grad()
            (model(one) - model(other)).square().sum().backward()
            optimizer.step()
    assert not events.failures
    assert events.of(TwinPasses)
    places = [event.written_at for event in events.of(TwinPasses)]
    with open(__file__, encoding="utf-8") as file:
        text = file.read().splitlines()
    return {text[place.line - 1].strip() if place is not None else "" for place in places}


def test_the_line_that_reads_a_sample_which_holds_one_tensor_twice() -> None:
    batches = DataLoader(Pairs(lambda row: (noisy(row), noisy(row))), batch_size=8)
    assert lines(lambda: batches) == {"return self.make(row)  # the line"}


def test_the_line_that_writes_outside_of_loaders() -> None:
    rows = [torch.randn(8, 6) for _ in range(5)]
    assert lines(lambda: ((noisy(row), noisy(row)) for row in rows)) == {"return x.add_(torch.randn_like(x))"}


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda row: (row, row), id="nothing is written"),
        pytest.param(lambda row: (noisy(row), row.clone()), id="copies"),
    ],
)
def test_no_line_where_no_write_is_shared(make: Callable[[torch.Tensor], Any]) -> None:
    assert lines(lambda: DataLoader(Pairs(make), batch_size=8)) == {""}
