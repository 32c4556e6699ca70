"""Rows that are drawn with a generator of the program's own."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

from autograd_doctor.events.data import DrawsRepeated
from autograd_doctor.instruments.data.own_draws import OwnDraws
from tests.watching import watching

ROWS = 100
Draw = Callable[[int], torch.Tensor]


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def repeated(draw: Draw, *, look_up: bool = True, vary: bool = True) -> list[DrawsRepeated]:
    """What is told of five steps, each of which draws; `vary`: they have other data."""
    with watching(OwnDraws) as recorded:
        table, inner = nn.Embedding(ROWS, 4), nn.Linear(4, 4)
        optimizer = torch.optim.SGD(table.parameters(), lr=0.1)
        for step in range(5):
            rows = draw(step)
            data = inner(torch.full((1, 4), float(step if vary else 1)))
            looked_up = table(rows.view(-1, 2)) if look_up else table.weight[:8]
            (data + looked_up).square().mean().backward()
            optimizer.step()
    assert not recorded.failures
    return recorded.of(DrawsRepeated)


def test_the_same_rows_in_each_step() -> None:
    (event,) = repeated(lambda step: torch.randint(ROWS, (16,), generator=seeded(0)))
    assert (event.rows, event.first, event.steps, event.others_vary) == (16, 1, 4, True)
    assert event.location is not None


def test_nothing_else_changes_either() -> None:
    (event,) = repeated(lambda step: torch.randint(ROWS, (16,), generator=seeded(0)), vary=False)
    assert not event.others_vary


@pytest.mark.parametrize(
    "draw",
    [
        lambda step: torch.randint(ROWS, (16,), generator=seeded(step)),
        lambda step: torch.randint(ROWS, (16,)),
        lambda step: torch.randperm(ROWS, generator=seeded(0))[:16],
        lambda step: torch.randint(ROWS, (6,), generator=seeded(0)),
        lambda step: torch.randint(1, (16,), generator=seeded(0)),
        lambda step: torch.randint(ROWS, (ROWS,), generator=seeded(0)),
    ],
    ids=["another seed", "no generator", "an order", "few", "no choice", "as many as there are"],
)
def test_draws_that_are_left_alone(draw: Draw) -> None:
    assert repeated(draw) == []


def test_draws_that_look_nothing_up() -> None:
    assert repeated(lambda step: torch.randint(ROWS, (16,), generator=seeded(0)), look_up=False) == []
