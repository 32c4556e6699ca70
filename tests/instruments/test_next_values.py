"""Series whose next values are targets, and modules that read them backwards."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.nn.functional import l1_loss, mse_loss, pad

from autograd_doctor.events.losses import SeriesReadBackwards
from autograd_doctor.instruments.losses.next_values import NextValues
from tests.watching import watching

Pair = tuple[torch.Tensor, torch.Tensor]


class Sees(nn.Module):
    """A convolution over time that sees what comes before, after or both, with a value or several at each place."""

    def __init__(self, before: int, after: int, features: int = 2) -> None:
        super().__init__()
        self.around, self.layer = (before, after), nn.Conv1d(features, features, before + after + 1)
        self.dropout = nn.Dropout(0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        series = x if x.dim() == 3 else x[..., None]
        seen = self.dropout(self.layer(pad(series.transpose(1, 2), self.around)).transpose(1, 2))
        return seen if x.dim() == 3 else seen.squeeze(2)


def told(model: nn.Module, pair: Callable[[torch.Tensor], Pair], *shape: int) -> list[SeriesReadBackwards]:
    torch.manual_seed(0)
    with watching(NextValues) as recorded:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for _ in range(2):
            given, wanted = pair(torch.randn(*(shape or (4, 9, 2))))
            mse_loss(model(given), wanted).backward()
            optimizer.step()
            optimizer.zero_grad()
    assert not recorded.failures
    return recorded.of(SeriesReadBackwards)


def following(series: torch.Tensor) -> Pair:
    return series[:, :-1], series[:, 1:]


def test_a_model_that_sees_the_future_and_not_the_past() -> None:
    first, again = told(Sees(0, 1), following)
    assert first.change > 1e-3
    assert first.location is not None
    assert first.compared_at is not None
    assert again.module == first.module
    assert told(Sees(0, 2, features=1), following, 4, 9), "of one feature"


@pytest.mark.parametrize("model", [Sees(1, 0), Sees(1, 1), Sees(0, 0)], ids=["past", "both", "itself"])
def test_models_that_see_something_else(model: nn.Module) -> None:
    assert told(model, following) == []


@pytest.mark.parametrize(
    "pair",
    [
        lambda series: (series, series),
        lambda series: (series[:, 1:], series[:, :-1]),
        lambda series: (series[:, :-2], series[:, 2:]),
        lambda series: (series[:, :-1], series[:, 1:] + 1e-3),
        lambda series: (torch.ones(4, 9, 2), torch.ones(4, 9, 2)),
    ],
    ids=["itself", "the one before", "two on", "with noise", "a constant"],
)
def test_targets_that_are_others(pair: Callable[[torch.Tensor], Pair]) -> None:
    assert told(Sees(0, 1), pair) == []


def test_a_difference_that_is_written_out() -> None:
    model = Sees(0, 1)
    with watching(NextValues) as recorded:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        series = torch.randn(4, 9, 2)
        loss = (series[:, 1:] - model(series[:, :-1])).square().mean()
        (loss + l1_loss(model.layer.weight, torch.zeros_like(model.layer.weight))).backward()
        optimizer.step()
    assert len(recorded.of(SeriesReadBackwards)) == 1
