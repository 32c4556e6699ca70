"""Seeds that are set again and again: told where steps draw the same numbers because of it."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy
import pytest
import torch
from torch import nn
from torch.optim import SGD

from autograd_doctor.events.data import SeedRepeated
from autograd_doctor.instruments.data.seeds import Seeds
from autograd_doctor.signals.seeds import Generator, Seeding
from tests.inventing import Invented, inventing

SET: dict[Generator, Callable[[int], object]] = {
    "torch": torch.manual_seed,
    "Python": random.seed,
    "NumPy": numpy.random.seed,
}
DRAW: dict[Generator, Callable[[], object]] = {
    "torch": lambda: torch.rand(3),
    "Python": random.random,
    "NumPy": numpy.random.rand,
}


def seeded(run: Invented, generator: Generator, seed: int | None) -> None:
    if seed is not None:
        SET[generator](seed)
    run.signals.seeds.given.send(Seeding(generator, seed))


def trained(run: Invented, steps: int, each: Callable[[int], None]) -> list[SeedRepeated]:
    """The events of so many steps, before each of which the program does something."""
    sgd = SGD([nn.Parameter(torch.ones(1))], lr=0.1)
    for step in range(steps):
        each(step)
        run.train(sgd)
    run.find(Seeds).finish()
    return run.of(SeedRepeated)


@pytest.mark.parametrize("generator", list(SET))
def test_steps_that_draw_the_same_numbers_are_counted(generator):
    def each(step: int) -> None:
        seeded(run, generator, 5)
        DRAW[generator]()

    with inventing(Seeds) as run:
        told = trained(run, 9, each)
    assert [(event.steps, event.repeated) for event in told] == [(4, 2), (8, 6), (9, 7)]
    assert (told[0].generator, told[0].seed, told[0].since, told[-1].times) == (generator, "5", 0, 9)
    assert told[0].location is not None


@pytest.mark.parametrize("generator", list(SET))
def test_a_generator_from_which_nothing_was_drawn_repeats_nothing(generator):
    with inventing(Seeds) as run:
        told = trained(run, 6, lambda step: seeded(run, generator, 5))
    assert {event.repeated for event in told} == {0}


def test_another_seed_that_the_same_line_is_given_elsewhere() -> None:
    def each(step: int) -> None:
        seeded(run, "torch", 5)
        torch.rand(3)
        if step % 3 == 2:
            seeded(run, "torch", 6)
            torch.rand(step)

    with inventing(Seeds) as run:
        told = trained(run, 9, each)
    assert [event.others for event in told if event.seed == "5"][-1] == 3


@pytest.mark.parametrize(("seeds", "others"), [((6, 7, 8), 3), ((5, 7), 1), ((6,), 1)])
def test_other_seeds_that_the_same_line_is_given_with_no_step_in_between(seeds: tuple[int, ...], others: int) -> None:
    def each(step: int) -> None:
        seeded(run, "torch", 5)
        torch.rand(3)
        for other in seeds if step == 8 else ():
            seeded(run, "torch", other)
            torch.rand(step)

    with inventing(Seeds) as run:
        told = trained(run, 9, each)
    assert [event.others for event in told if event.seed == "5"][-1] == others


def test_another_seed_for_each_of_several_trainings() -> None:
    def each(step: int) -> None:
        if step % 6 == 0:
            seeded(run, "torch", 100 + step)
        seeded(run, "torch", 5)
        torch.rand(3)

    with inventing(Seeds) as run:
        told = trained(run, 18, each)
    assert {event.others for event in told if event.seed == "5"} == {1}


def test_steps_that_draw_another_count_of_numbers_repeat_nothing():
    def each(step: int) -> None:
        seeded(run, "torch", 5)
        torch.rand(step + 1)

    with inventing(Seeds) as run:
        assert {event.repeated for event in trained(run, 6, each)} == {0}


@pytest.mark.parametrize("seeds", [[1, 2, 3, 4, 5, 6], [None] * 6, [5, None, 5, None, 5, None, 5]])
def test_another_seed_or_a_step_left_out_begins_anew(seeds):
    def each(step: int) -> None:
        if seeds[step] is not None or len(seeds) == 6:
            seeded(run, "torch", seeds[step])

    with inventing(Seeds) as run:
        assert trained(run, len(seeds), each) == []


def test_a_seed_that_is_set_twice_in_a_step_counts_as_one_step():
    def each(step: int) -> None:
        for _ in range(2):
            seeded(run, "torch", 5)
            torch.rand(1)

    with inventing(Seeds) as run:
        told = trained(run, 4, each)
    assert [(event.steps, event.times, event.repeated) for event in told] == [(4, 8, 2)]
