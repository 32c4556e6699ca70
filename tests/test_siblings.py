"""Trials beside a trial: the same lines at work on another model, before or after."""

from __future__ import annotations

import pytest

from autograd_doctor.events.event import Event
from autograd_doctor.rules.cycle import learning_rate_zero
from autograd_doctor.rules.numerics import zero_gradients
from autograd_doctor.trace import Trace
from autograd_doctor.views.siblings import backwards_of_siblings, steps_of_siblings
from tests.traces import backward, built, examined, in_order, seen, stepped

FIRST, SECOND = (0, 1), (2, 3)


def trial(optimizer: int, parameters: tuple[int, ...], *, rate: float = 0.1, line: int = 5) -> list[Event]:
    """Six rounds of a model of its own."""
    rounds: list[Event] = [built(*parameters, optimizer=optimizer, line=line)]
    for step in range(6):
        rounds.append(backward(10 * optimizer + step, wrote=list(parameters), loss=1.0))
        norms = dict.fromkeys(parameters, 1.0)
        rounds.append(stepped(10 * optimizer + step, norms, optimizer=optimizer, learning_rates=[rate]))
    return rounds


def woven(one: list[Event], other: list[Event]) -> list[Event]:
    return [event for pair in zip(one, other, strict=True) for event in pair]


@pytest.mark.parametrize(
    ("events", "beside"),
    [
        ([*trial(0, FIRST), *trial(1, SECOND)], True),
        ([*trial(1, SECOND), *trial(0, FIRST)], True),
        (woven(trial(0, FIRST), trial(1, SECOND)), False),
        ([*trial(0, FIRST), *trial(1, FIRST)], False),
        (trial(0, FIRST), False),
    ],
    ids=["after", "before", "at the same time", "over the same parameters", "alone"],
)
def test_what_lies_beside(events: list[Event], beside: bool) -> None:
    trace = Trace(tuple(in_order(events)))
    mine = next(each for each in trace.backwards.values() if set(each.wrote) == set(FIRST) and each.backward < 10)
    assert bool(steps_of_siblings(trace, 0)) is beside
    assert bool(backwards_of_siblings(trace, mine)) is beside


def test_an_optimizer_that_was_built_elsewhere_is_none_beside() -> None:
    trace = Trace(tuple(in_order(trial(0, FIRST), trial(1, SECOND, line=6))))
    assert steps_of_siblings(trace, 0) == []


@pytest.mark.parametrize(("rate", "found"), [(0.1, 0), (0.0, 2)])
def test_a_run_at_rate_zero_is_a_control_of_those_that_learn(rate: float, found: int) -> None:
    events = in_order(trial(0, FIRST, rate=0.0), trial(1, SECOND, rate=rate))
    assert len(examined(learning_rate_zero.RULE, events)) == found


def test_a_run_at_rate_zero_alone_is_none() -> None:
    assert len(examined(learning_rate_zero.RULE, in_order(trial(0, FIRST, rate=0.0)))) == 1


def test_the_rule_of_zero_gradients_has_siblings_in_programs() -> None:
    """What it makes of them, `tests/programs` shows; of one trial alone it is told."""
    names = [seen(number, f"w{number}") for number in FIRST]
    dead = [stepped(step, dict.fromkeys(FIRST, 0.0)) for step in range(6)]
    events = in_order(names, built(*FIRST), [backward(wrote=list(FIRST), loss=1.0)], dead)
    assert len(examined(zero_gradients.RULE, events)) == 1
