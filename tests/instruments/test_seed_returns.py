"""Seeds that are set again every few steps: told where the steps that follow draw the same numbers because of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.optim import SGD

from autograd_doctor.events.data import SeedReturned
from autograd_doctor.instruments.data.seed_returns import SeedReturns
from autograd_doctor.signals.seeds import Seeding
from tests.inventing import Invented, inventing


def seeded(run: Invented, seed: int | None) -> None:
    torch.manual_seed(seed or 0)
    run.signals.seeds.given.send(Seeding("torch", seed))


def stepped(run: Invented, sgd: SGD, *, moves: bool = True) -> None:
    parameter = sgd.param_groups[0]["params"][0]
    parameter.grad = torch.ones_like(parameter)
    with run.step(sgd), torch.no_grad():
        parameter.add_(1 if moves else 0)


def trained(
    epochs: int,
    *,
    seed: Callable[[int], int | None] = lambda epoch: 3,
    draw: Callable[[int, int], object] = lambda epoch, step: torch.rand(2),
    anew: bool = False,
    moves: bool = True,
    steps: int = 4,
) -> list[SeedReturned]:
    sgd = SGD([nn.Parameter(torch.ones(1))], lr=0.1)
    with inventing(SeedReturns) as run:
        for epoch in range(epochs):
            sgd = SGD([nn.Parameter(torch.ones(1))], lr=0.1) if anew else sgd
            seeded(run, seed(epoch))
            for step in range(steps):
                draw(epoch, step)
                stepped(run, sgd, moves=moves)
        run.find(SeedReturns).finish()
        return run.of(SeedReturned)


def test_epochs_that_draw_the_same_numbers() -> None:
    (event,) = trained(4)
    assert (event.generator, event.seed, event.since, event.times) == ("torch", "3", 0, 4)
    assert (event.steps, event.drawing, event.repeated) == (4, 3, 3)
    assert event.location is not None


def test_one_epoch_and_another_are_a_repetition_of_one() -> None:
    assert [event.repeated for event in trained(2)] == [1]
    assert trained(1) == []


def test_an_order_that_is_drawn_before_the_first_step() -> None:
    (event,) = trained(3, draw=lambda epoch, step: step or torch.rand(2))
    assert event.drawing == 0


@pytest.mark.parametrize("seed", [lambda epoch: epoch, lambda epoch: None])
def test_other_seeds(seed: Callable[[int], int | None]) -> None:
    assert trained(4, seed=seed) == []


def test_another_number_of_draws() -> None:
    assert trained(4, draw=lambda epoch, step: torch.rand(2 + 50 * epoch)) == []


def test_runs_of_their_own_and_runs_that_begin_with_the_same_weights() -> None:
    assert trained(4, anew=True) == []
    assert trained(4, moves=False) == []


def test_steps_that_are_seeded_one_by_one_are_no_epochs() -> None:
    assert trained(6, steps=2) == []


def test_another_line_that_seeds_ends_what_follows_the_first() -> None:
    sgd = SGD([nn.Parameter(torch.ones(1))], lr=0.1)
    with inventing(SeedReturns) as run:
        for epoch in range(4):
            seeded(run, 3)
            for _ in range(4):
                torch.rand(2)
                stepped(run, sgd)
            seeded(run, 100 + epoch)
            for _ in range(4):
                torch.rand(2)
                stepped(run, sgd)
        run.find(SeedReturns).finish()
        assert [(event.seed, event.repeated) for event in run.of(SeedReturned)] == [("3", 3)]
