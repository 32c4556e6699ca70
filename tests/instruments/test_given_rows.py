"""Data that the training loop writes to, part by part, and is given again."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

from autograd_doctor.events.data import GivenRowsChanged
from autograd_doctor.instruments.data.given_rows import GivenRows
from tests.watching import watching

ROWS, PART = 12, 4


def noise(x: torch.Tensor) -> None:
    x += torch.randn_like(x)


def scaled(x: torch.Tensor) -> None:
    x.mul_(0.5)


def masked(x: torch.Tensor) -> None:
    x[torch.rand(x.shape) < 0.5] = 0


def cut_out(x: torch.Tensor) -> None:
    x[:, int(torch.randint(3, ()))] = 0


def standardised(x: torch.Tensor) -> None:
    x.sub_(x.mean(0)).div_(x.std(0))


def other_rows(x: torch.Tensor) -> None:
    x.add_(SPEEDS)


def emptied(x: torch.Tensor) -> None:
    x.zero_()
    x.add_(torch.randn_like(x))


SPEEDS = torch.ones(PART, 3)


def trained(
    change: Callable[[torch.Tensor], None], *, target: str = "own row", epochs: int = 3
) -> list[GivenRowsChanged]:
    torch.manual_seed(0)
    rows, answers, model = torch.randn(ROWS, 3), torch.randn(ROWS, 1), nn.Linear(3, 1)
    with watching(GivenRows) as run:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for _ in range(epochs):
            for low in range(0, ROWS, PART):
                x = rows[low : low + PART]
                change(x)
                y = {"own row": answers[low : low + PART], "one for all": answers[:PART], "itself": x[:, :1]}.get(
                    target
                )
                y = y if y is not None else x.sum(1, keepdim=True)
                nn.functional.mse_loss(model(x), y).backward()
                optimizer.step()
                optimizer.zero_grad()
        run.find(GivenRows).finish()
        return run.of(GivenRowsChanged)


@pytest.mark.parametrize("change", [noise, scaled, masked, cut_out])
def test_what_one_epoch_left_is_changed_by_the_next(change: Callable[[torch.Tensor], None]) -> None:
    told = trained(change)
    assert told[-1].location is not None
    assert told[-1].location.line == change.__code__.co_firstlineno + 1
    assert (told[-1].parts, told[-1].is_target) == (ROWS // PART, False)
    assert told[-1].again > 1


@pytest.mark.parametrize("change", [standardised, other_rows, emptied])
def test_what_ends_where_it_was_is_moved_by_other_data_or_filled_anew(change: Callable[[torch.Tensor], None]) -> None:
    assert trained(change) == []


def test_one_epoch_shows_nothing() -> None:
    assert trained(noise, epochs=1) == []


@pytest.mark.parametrize(("target", "told"), [("itself", True), ("one for all", False), ("made of it", False)])
def test_states_have_no_answers_of_their_own(target: str, told: bool) -> None:
    assert [each.is_target for each in trained(noise, target=target)][-1:] == [True] * told


def test_what_is_brought_back_between_two_uses() -> None:
    """By NumPy, which no operation of torch shows."""
    torch.manual_seed(0)
    rows, model = torch.randn(ROWS, 3), nn.Linear(3, 1)
    first = rows.clone()
    with watching(GivenRows) as run:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for _ in range(3):
            rows.numpy()[:] = first.numpy()
            for x, y in zip(rows.split(PART), first.split(PART), strict=True):
                noise(x)
                nn.functional.mse_loss(model(x), y[:, :1]).backward()
                optimizer.step()
                optimizer.zero_grad()
        run.find(GivenRows).finish()
    assert run.of(GivenRowsChanged) == []


def test_a_single_number_is_written_through_a_view_with_rows() -> None:
    model, count = nn.Linear(3, 1), torch.zeros(())
    with watching(GivenRows) as run:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for _ in range(3):
            count.view(1).add_(1)
            model(torch.ones(2, 3)).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
        run.find(GivenRows).finish()
    assert run.of(GivenRowsChanged) == []
