"""Iterators that have come to their end while the loop around them goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader

from autograd_doctor.events.data import IteratorUsedUp
from autograd_doctor.instruments.data.used_up import UsedUp
from tests.watching import watching


def trained(make: Callable[[], Iterable[Any]], epochs: int = 4, *, anew: bool = False) -> list[IteratorUsedUp]:
    model = nn.Linear(2, 1)
    with watching(UsedUp) as events:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        batches = make()
        for _ in range(epochs):
            model.train()
            if anew:
                batches = make()
            for x in batches:
                optimizer.zero_grad()
                model(x).mean().backward()
                optimizer.step()
    assert not events.failures
    return events.of(IteratorUsedUp)


def generator() -> Iterator[torch.Tensor]:
    for _ in range(3):
        yield torch.ones(2, 2)


def loader() -> Iterable[torch.Tensor]:
    return DataLoader(list(torch.ones(6, 2)), batch_size=2)  # type: ignore[arg-type]


@pytest.mark.parametrize("make", [generator, lambda: iter(loader()), lambda: map(torch.ones, [(2, 2)] * 3)])
def test_what_is_used_up_is_told_with_its_name_and_the_empty_rounds(make: Callable[[], Iterable[Any]]) -> None:
    (event,) = trained(make, epochs=5)
    assert (event.name, event.fed, event.step) == ("batches", True, 3)
    assert 3 <= event.rounds <= 4, "the first empty round shows only where something follows the loop in it"
    assert event.location is not None


@pytest.mark.parametrize("make", [generator, lambda: iter(loader()), loader])
def test_what_is_made_anew_is_not(make: Callable[[], Iterable[Any]]) -> None:
    assert trained(make, anew=True) == []


def test_a_list_or_a_loader_can_be_gone_through_again() -> None:
    assert trained(loader) == trained(lambda: [torch.ones(2, 2)] * 3) == []


def test_a_loop_that_trains_again_later_was_not_left_without_data() -> None:
    model = nn.Linear(2, 1)
    with watching(UsedUp) as events:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        batches = generator()
        for epoch in range(6):
            model.train()
            if epoch == 3:
                batches = generator()
            for x in batches:
                model(x).mean().backward()
                optimizer.step()
            if epoch == 3:
                break
    assert not events.of(IteratorUsedUp)


def silently_trained(batches: Iterable[torch.Tensor], rounds: Iterable[int]) -> list[IteratorUsedUp]:
    """Nothing in a round but its steps; what is looked at comes after all of them."""
    model = nn.Linear(2, 1)
    with watching(UsedUp) as events:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for _ in rounds:
            for x in batches:
                model(x).mean().backward()
                optimizer.step()
        with torch.no_grad():
            pass
    assert not events.failures
    return events.of(IteratorUsedUp)


def test_the_number_of_the_round_tells_that_the_loop_came_back() -> None:
    (event,) = silently_trained(generator(), range(5))
    assert (event.name, event.rounds, event.turns, event.fed) == ("batches", 3, 0, True)


@pytest.mark.parametrize("rounds", [range(2), "abcde"])
def test_a_round_that_is_not_through_and_names_tell_nothing(rounds: Iterable[int]) -> None:
    assert silently_trained(generator(), rounds) == []


def test_a_number_that_goes_up_by_steps_counts_no_rounds() -> None:
    model = nn.Linear(2, 1)
    with watching(UsedUp) as events:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        batches = generator()
        for _at in range(0, 100, 10):
            taken = list(batches)
            for x in taken:
                model(x).mean().backward()
                optimizer.step()
            if not taken:
                break
        with torch.no_grad():
            pass
    assert not events.of(IteratorUsedUp)
