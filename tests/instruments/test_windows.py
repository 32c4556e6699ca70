"""Targets that are the last values of what a module was given."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

from autograd_doctor.events.data import TargetInWindow
from autograd_doctor.instruments.data.windows import Windows
from tests.watching import watching

SERIES = torch.randn(60, 3)
ROWS = torch.stack([SERIES[i : i + 8] for i in range(0, 40, 3)])


class Model(nn.Module):
    def __init__(self, wanted: int) -> None:
        super().__init__()
        self.lazy = nn.LazyLinear(wanted)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows = x.transpose(0, 1) if x.shape[0] == 8 else x
        return self.lazy(rows.flatten(1))  # type: ignore[no-any-return]


def told(given: torch.Tensor, target: torch.Tensor, *, by_hand: bool = False) -> list[TargetInWindow]:
    model = Model(target.reshape(14, -1).shape[1])
    with watching(Windows) as recorded:
        made = model(given).reshape(target.shape)
        loss = (made - target).abs().mean() if by_hand else F.mse_loss(made, target)
        loss.backward()
        return recorded.of(TargetInWindow)


@pytest.mark.parametrize(
    ("given", "target", "channel"),
    [
        (ROWS, ROWS[:, -1], None),
        (ROWS, ROWS[:, -1, 1], 1),
        (ROWS, ROWS[:, -1, 2:], 2),
        (ROWS.transpose(0, 1), ROWS[:, -1, 0], 0),
        (ROWS[:, :, :1], ROWS[:, -1, :1], None),
        (ROWS[:, :, 0], ROWS[:, -1, 0], None),
    ],
    ids=["all", "one", "in a column", "time first", "one channel", "a table"],
)
@pytest.mark.parametrize("by_hand", [False, True])
def test_targets_that_are_the_last_values(
    given: torch.Tensor, target: torch.Tensor, channel: int | None, by_hand: bool
) -> None:
    (event,) = told(given.clone(), target.clone(), by_hand=by_hand)
    assert (event.rows, event.length, event.channel) == (14, 8, channel)
    assert event.recurring > 20
    assert event.location is not None
    assert event.called_at is not None


@pytest.mark.parametrize(
    ("given", "target"),
    [
        (ROWS[:, :-1], ROWS[:, -1]),
        (ROWS, ROWS[:, 0]),
        (ROWS, ROWS[:, -1].roll(1, 0)),
        (ROWS[:, -2:], ROWS[:, -1]),
        (ROWS, ROWS[:, -1, :2]),
        (ROWS * 0 + 1.0, (ROWS * 0 + 1.0)[:, -1]),
    ],
    ids=["what follows", "the first", "of other rows", "too short", "some of them", "all alike"],
)
def test_targets_that_are_something_else(given: torch.Tensor, target: torch.Tensor) -> None:
    assert told(given.clone(), target.clone()) == []


def test_values_of_rows_of_their_own_do_not_recur() -> None:
    rows = torch.randn(14, 8, 1)
    (event,) = told(rows, rows[:, -1].clone())
    assert event.recurring == 0
