"""Values that a program computes from what they were in the step before."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

from autograd_doctor.events.numerics import CarriedValueMeasured
from autograd_doctor.instruments.numerics.carried_values import CarriedValues
from tests.watching import watching

Update = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def trained(update: Update, *, steps: int = 30, uses: bool = True) -> list[CarriedValueMeasured]:
    """A model that adds a state to its input, and what was said of that state."""
    torch.manual_seed(0)
    with watching(CarriedValues) as run:
        layer = nn.Linear(4, 4)
        optimizer = torch.optim.SGD(layer.parameters(), lr=1e-3)
        state = torch.ones(4)
        for _ in range(steps):
            hidden = layer(torch.ones(2, 4))
            state = update(state, hidden.detach().abs().mean(0))
            optimizer.zero_grad()
            (hidden + state if uses else hidden).sum().backward()
            optimizer.step()
        return run.of(CarriedValueMeasured)


def in_place(state: torch.Tensor, given: torch.Tensor) -> torch.Tensor:
    state.mul_(2.0)
    return state.add_(given)


def written(state: torch.Tensor, given: torch.Tensor) -> torch.Tensor:
    state[:] = 2 * state + given
    return state


def copied(state: torch.Tensor, given: torch.Tensor) -> torch.Tensor:
    return state.copy_(2 * state + given)


def anew(state: torch.Tensor, given: torch.Tensor) -> torch.Tensor:
    return (2 * state + given).detach()


def passed_on(state: torch.Tensor, given: torch.Tensor) -> torch.Tensor:
    """What has that dtype already is given back as it is."""
    return ((2 * state.to(torch.float32)).contiguous() + given).detach()


@pytest.mark.parametrize("update", [anew, in_place, written, copied, passed_on])
def test_what_feeds_on_itself_is_followed_however_it_is_written(update: Update) -> None:
    events = trained(update)
    last = events[-1]
    assert last.step == 25
    assert 2.0**25 < last.size < 2.0**30
    assert (last.numel, last.in_loss, last.operation.startswith("add")) == (4, True, True)
    assert last.given is not None
    assert last.given < 2
    assert last.location is not None
    assert (last.kept_at is None) == (update is in_place)
    sizes = [event.size for event in events if event.value == last.value]
    assert sizes == sorted(sizes)


def test_what_never_reaches_a_loss_is_said_to() -> None:
    assert not any(event.in_loss for event in trained(anew, uses=False))


def test_what_is_as_large_as_before_is_stated_once() -> None:
    assert [event.step for event in trained(lambda state, given: 0.5 * state)] == [1, 2, 3, 25]
    assert [event.step for event in trained(lambda state, given: 1.0 * state)] == [1]


@pytest.mark.parametrize(
    "update",
    [
        lambda state, given: 2 * given,
        lambda state, given: torch.zeros(4) * 2,
        lambda state, given: state.copy_(given),
        lambda state, given: state,
    ],
    ids=["of this step", "fresh", "overwritten", "left as it is"],
)
def test_what_is_not_computed_from_itself_is_not_followed(update: Update) -> None:
    assert trained(update) == []


def test_values_that_are_no_numbers_any_more_are_not_stated() -> None:
    assert all(event.size < float("inf") for event in trained(lambda state, given: state * 1e20))
