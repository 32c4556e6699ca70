"""Rows of a batch that were sorted by data of it, and meet others that were not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import mse_loss
from torch.utils.data import DataLoader, TensorDataset

from autograd_doctor.events.data import SortedRowsMet
from autograd_doctor.instruments.data.sorted_rows import SortedRows
from tests.watching import watching

Loss = Callable[[Tensor, Tensor, Tensor], Tensor]
X, Y = torch.randn(60, 3), torch.randn(60)
TIMES = torch.rand(60)
STEPS = 3


def told(loss: Loss, times: Tensor = TIMES, *, by_index: bool = False) -> list[SortedRowsMet]:
    """What is stated of losses of predictions, targets and times."""
    model = nn.Linear(3, 1)
    with watching(SortedRows) as recorded:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        batches: Any = DataLoader(TensorDataset(X, Y, times), batch_size=20)
        if by_index:
            batches = ((X[rows], Y[rows], times[rows]) for rows in torch.arange(60).split(20))
        for x, y, t in batches:
            optimizer.zero_grad()
            loss(model(x)[:, 0], y, t).backward()
            optimizer.step()
    assert not recorded.failures
    return recorded.of(SortedRowsMet)


def order(t: Tensor) -> Tensor:
    return t.argsort()


@pytest.mark.parametrize("by_index", [False, True], ids=["loader", "index"])
@pytest.mark.parametrize(
    ("loss", "operation"),
    [
        (lambda p, y, t: mse_loss(p[order(t)], y), "mse_loss"),
        (lambda p, y, t: mse_loss(p, y.index_select(0, t.sort(descending=True)[1])), "mse_loss"),
        (lambda p, y, t: (p.exp() * y[order(-t)]).sum(), "mul"),
        (lambda p, y, t: mse_loss((2 * p[:, None])[order(t.log())] + 1, y[:, None]), "mse_loss"),
        (lambda p, y, t: torch.stack([p.tanh()[order(t)], y], 1).square().sum(), "stack"),
        (lambda p, y, t: (p - t[order(t)]).square().mean(), "sub"),
    ],
    ids=["predictions", "targets", "weights", "columns", "side by side", "by itself"],
)
def test_one_side_is_sorted(loss: Loss, operation: str, by_index: bool) -> None:
    events = told(loss, by_index=by_index)
    assert len(events) == 2
    assert {(event.operation, event.rows) for event in events} == {(operation, 20)}
    assert all(event.moved > 10 for event in events)
    assert events[0].location is not None
    assert events[0].location.line == loss.__code__.co_firstlineno


@pytest.mark.parametrize(
    "loss",
    [
        lambda p, y, t: mse_loss(p[(by := order(t))], y[by]),
        lambda p, y, t: mse_loss(p[(by := order(t))].exp()[by.argsort()], y),
        lambda p, y, t: mse_loss(torch.zeros_like(p).index_copy(0, (by := order(t)), p[by]), y),
        lambda p, y, t: mse_loss(p.sort().values, y.sort().values),
        lambda p, y, t: (p - p[order(t)]).square().mean(),
        lambda p, y, t: mse_loss(p, y[order(torch.rand(20))]),
        lambda p, y, t: mse_loss(p, y[order(p)]),
        lambda p, y, t: mse_loss(p, y) + p[order(t)].diff().square().mean(),
        lambda p, y, t: (p[:, None] - y[order(t)]).square().mean(),
        lambda p, y, t: mse_loss(p[:10], y[order(t)][:10]),
        lambda p, y, t: mse_loss(p[order(t)], Y[:20]),
    ],
    ids=[
        "both",
        "put back",
        "copied back",
        "distributions",
        "beside itself",
        "by lot",
        "by predictions",
        "neighbours",
        "each with each",
        "some of them",
        "of no batch",
    ],
)
def test_what_is_in_order(loss: Loss) -> None:
    assert told(loss) == []


def test_what_was_in_that_order_before_stays_where_it_is() -> None:
    assert told(lambda p, y, t: mse_loss(p[order(t)], y), torch.arange(60.0)) == []
