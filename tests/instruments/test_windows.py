"""Targets that are the last values of what a module was given."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

from autograd_doctor.events.data import TargetInWindow
from autograd_doctor.instruments.data.windows import Windows
from tests.watching import watching

Changes = Callable[[torch.Tensor], torch.Tensor]
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


class Running(nn.Module):
    """What it returns for a place depends on the values there and before, which may be changed before it sees them."""

    def __init__(self, before: Changes = lambda x: x) -> None:
        super().__init__()
        self.scale, self.before = nn.Parameter(torch.ones(3)), before

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        seen = self.before(x) if self.training else x
        return seen.cumsum(1) * self.scale


def told_of(model: nn.Module, compared: Changes, *, target: Changes = lambda x: x[:, -1]) -> int:
    rows = ROWS.clone()
    with watching(Windows) as recorded:
        F.mse_loss(compared(model(rows)), target(rows)).backward()
        return len(recorded.of(TargetInWindow))


@pytest.mark.parametrize(
    ("compared", "expected"),
    [
        (lambda y: y[:, -1], 1),
        (lambda y: y[:, -2], 0),
        (lambda y: (2 * y + 1).transpose(0, 1)[-1], 1),
        (lambda y: (2 * y + 1).transpose(0, 1)[-2], 0),
        (lambda y: torch.cat([y[:, :1], y[:, 7:]], 1).sum(1), 1),
        (lambda y: torch.stack(y.unbind(1)[:-1]).sum(0), 0),
        (lambda y: y.clone().mul_(2)[:, -1], 1),
        (lambda y: y[:, :-1].clone().mul_(2)[:, -1], 0),
        (lambda y: y.chunk(2, dim=1)[1][:, -1], 1),
        (lambda y: F.linear(y, torch.eye(3))[:, -2], 0),
    ],
    ids=["last", "before", "moved", "moved before", "joined", "taken apart", "in place", "cut", "halves", "a head"],
)
def test_what_is_compared_is_made_again(compared: Changes, expected: int) -> None:
    assert told_of(Running(), compared) == expected


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        (lambda x: x / 2, 1),
        (lambda x: x + 0.1 * torch.randn_like(x), 0),
        (lambda x: F.dropout(x, 0.5), 0),
        (lambda x: torch.where(torch.rand(x.shape) < 0.5, x.roll(1, 1), x), 0),
        (lambda x: torch.cat([x[:, :-1], torch.zeros_like(x[:, -1:])], 1), 0),
    ],
    ids=["scaled", "noisy", "dropped", "swapped", "left out"],
)
def test_what_comes_to_the_parameters(before: Changes, expected: int) -> None:
    assert told_of(Running(before), lambda y: y[:, -1]) == expected


@pytest.mark.parametrize(("place", "expected"), [(-1, 1), (-2, 0)])
def test_two_models_that_answer_together(place: int, expected: int) -> None:
    rows, one, other = ROWS.clone(), Running(), Running(lambda x: x / 2)
    with watching(Windows) as recorded:
        F.mse_loss((one(rows)[:, place] + other(rows)[:, place]) / 2, rows[:, -1]).backward()
        assert len(recorded.of(TargetInWindow)) == expected


def test_a_result_of_another_model_is_none_of_its_own() -> None:
    told, other = Running(), nn.LazyLinear(3)
    with watching(Windows) as recorded:
        rows = ROWS.clone()
        kept = told(rows).mean()
        (F.mse_loss(other(rows[:, :-1].flatten(1)), rows[:, -1]) + kept).backward()
        assert recorded.of(TargetInWindow) == []


class TakesItsLoss(nn.Module):
    """seen: how many places."""

    def __init__(self, seen: int) -> None:
        super().__init__()
        self.net, self.seen = Running(), seen

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        is_level = (x - self.net.scale).square().mean()
        return (self.net(x[:, : self.seen])[:, -1] - x[:, -1]).square().mean(), is_level


@pytest.mark.parametrize(("seen", "expected"), [(8, 1), (7, 0)])
def test_a_loss_within_the_forward(seen: int, expected: int) -> None:
    rows = ROWS.clone()
    with watching(Windows) as recorded:
        sum(TakesItsLoss(seen)(rows)).backward()
        assert len(recorded.of(TargetInWindow)) == expected


def test_statistics_of_the_program_stay_as_they_are() -> None:
    model = nn.Sequential(nn.BatchNorm1d(8), Running(lambda x: x / 2))
    rows, before = ROWS.clone(), torch.random.get_rng_state()
    with watching(Windows) as recorded:
        F.mse_loss(model(rows)[:, -1], rows[:, -1]).backward()
        assert len(recorded.of(TargetInWindow)) == 1
    assert model[0].num_batches_tracked == 1
    assert torch.equal(torch.random.get_rng_state(), before)
