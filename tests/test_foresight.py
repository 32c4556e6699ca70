"""How far loops have come: told from what the program's variables hold, and never by running any of it."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from autograd_doctor.runner.foresight import Foresight

FROM, TO = 100.0, 110.0
"""Between these two looks, ten seconds passed."""


class Clocked:
    """Looks once in the course of a loop, and once more later on."""

    def __init__(self) -> None:
        self.foresight = Foresight()
        self._when = iter((FROM, TO))

    def step(self) -> None:
        self.foresight.look(next(self._when))

    def seconds_left(self) -> float:
        """To the second, by asking of each."""
        return next((left for left in range(1000) if self.foresight.ends_before(TO + left)), float("inf"))


def over_a_range(step: Callable[[], None]) -> None:
    for epoch in range(5):
        if epoch in (0, 2):
            step()


def backwards_in_steps(step: Callable[[], None]) -> None:
    """Backwards, in steps of its own."""
    steps, jump = 10**12, 10**11
    for left in range(steps, 0, -jump):
        if left in (5 * jump, 4 * jump):
            step()


def within_a_bar(step: Callable[[], None]) -> None:
    def bar(entries: range, **options: object) -> range:
        return entries

    arguments = Namespace(epochs=4)
    for epoch in bar(range(1, arguments.epochs + 1), desc="epochs"):
        if epoch in (1, 3):
            step()


def over_a_list(step: Callable[[], None]) -> None:
    rates = [0.1, 0.2, 0.3, 0.4]
    for rate in rates:
        if rate in (0.1, 0.3):
            step()


def over_a_literal(step: Callable[[], None]) -> None:
    for rate in (0.1, 0.2, 0.3, 0.4):
        if rate in (0.1, 0.3):
            step()


def by_number(step: Callable[[], None]) -> None:
    folds = ["a", "b", "c", "d"]
    for number, _ in enumerate(folds):
        if number in (0, 2):
            step()


def until_a_number(step: Callable[[], None]) -> None:
    config = {"steps": 8}
    taken = 0
    while taken < config["steps"]:
        if taken in (0, 4):
            step()
        taken += 1


def nested(step: Callable[[], None]) -> None:
    def epoch(number: int) -> None:
        for batch in range(10):
            if (number, batch) in ((0, 0), (1, 0)):
                step()

    for number in range(2):
        epoch(number)


def within_what_does_not_count(step: Callable[[], None]) -> None:
    """The inner loop goes round again and again: what is left of it says nothing."""
    while True:
        for critic in range(3):
            if critic < 2:
                step()
        return


def over_a_generator(step: Callable[[], None]) -> None:
    for number in (each for each in range(4)):
        if number in (0, 2):
            step()


def over_a_length_of_its_own(step: Callable[[], None]) -> None:
    class Epochs:
        def __len__(self) -> int:
            raise AssertionError("code of the program was run")

        def __iter__(self) -> object:
            return iter(range(4))

    epochs = Epochs()
    for number in epochs:  # type: ignore[attr-defined]
        if number in (0, 2):
            step()


NEVER = float("inf")
LOOPS = [
    (over_a_range, 15),
    (backwards_in_steps, 40),
    (within_a_bar, 10),
    (over_a_list, 10),
    (over_a_literal, 10),
    (by_number, 10),
    (until_a_number, 10),
    (nested, 10),
    (within_what_does_not_count, NEVER),
    (over_a_generator, NEVER),
    (over_a_length_of_its_own, NEVER),
]


@pytest.mark.parametrize(("loop", "left"), LOOPS, ids=[loop.__name__ for loop, _ in LOOPS])
def test_how_long_a_loop_will_go_on(loop: Callable[[Callable[[], None]], None], left: float) -> None:
    clocked = Clocked()
    loop(clocked.step)
    assert clocked.seconds_left() == left


def test_a_loop_that_has_just_begun_is_waited_for() -> None:
    foresight = Foresight()
    for epoch in range(1000):
        if epoch < 2:
            foresight.look(100.0 + epoch)
    assert foresight.ends_before(0.0)


def test_another_loop_is_measured_anew() -> None:
    clocked = SimpleNamespace(now=0.0)
    foresight = Foresight()
    for epoch in range(100):
        clocked.now += 10.0 * (epoch < 2)
        foresight.look(clocked.now)
    assert not foresight.ends_before(clocked.now + 5.0)
    for _ in range(3):
        clocked.now += 1.0
        foresight.look(clocked.now)
    assert foresight.ends_before(clocked.now + 5.0)
