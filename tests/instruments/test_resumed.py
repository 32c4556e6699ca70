"""Runs that go on from a file which holds the state of a schedule."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.optim import SGD, Optimizer
from torch.optim.lr_scheduler import CosineAnnealingLR, ExponentialLR, LambdaLR, LRScheduler

from autograd_doctor.events.cycle import ScheduleLeftBehind
from autograd_doctor.instruments.cycle.resumed import Resumed
from tests.watching import watching

Resume = Callable[[Any, Optimizer, LRScheduler], object]


def checkpoint(steps: int, **more: Any) -> io.BytesIO:
    optimizer = SGD(nn.Linear(2, 1).parameters(), lr=0.1)
    scheduler = ExponentialLR(optimizer, 0.5)
    for _ in range(steps):
        optimizer.step()
        scheduler.step()
    states = {"epoch": 3, "opt": optimizer.state_dict(), "sched": scheduler.state_dict(), **more}
    file = io.BytesIO()
    torch.save({"states": states}, file)
    file.seek(0)
    return file


def resumed(resume: Resume, *, steps: int = 5, **more: Any) -> list[ScheduleLeftBehind]:
    file = checkpoint(steps, **more)
    with watching(Resumed) as recorded:
        optimizer = SGD(nn.Linear(2, 1).parameters(), lr=0.1)
        scheduler = ExponentialLR(optimizer, 0.5)
        resume(torch.load(file)["states"], optimizer, scheduler)
        for _ in range(2):
            optimizer.step()
            scheduler.step()
    return recorded.of(ScheduleLeftBehind)


def optimizer_alone(states: Any, optimizer: Optimizer, scheduler: LRScheduler) -> None:
    optimizer.load_state_dict(states["opt"])


def test_a_schedule_that_was_left_in_the_file() -> None:
    (event,) = resumed(optimizer_alone)
    assert (event.entry, event.steps, len(event.learning_rates)) == ("sched", 5, 1)
    assert event.loaded_at is not None
    assert event.loaded_at.line == optimizer_alone.__code__.co_firstlineno + 1
    assert event.made_at is not None


def another_rate(states: Any, optimizer: Optimizer, scheduler: LRScheduler) -> None:
    optimizer_alone(states, optimizer, scheduler)
    for group in optimizer.param_groups:
        group["lr"] = group["initial_lr"] = 0.05


def a_lower_rate(states: Any, optimizer: Optimizer, scheduler: LRScheduler) -> None:
    optimizer_alone(states, optimizer, scheduler)
    optimizer.param_groups[0]["lr"] *= 0.5


def test_a_new_schedule_begins_where_another_rate_was_set() -> None:
    assert resumed(another_rate) == []
    assert len(resumed(a_lower_rate)) == 1


def resumed_with(make: Callable[[Optimizer], LRScheduler], steps: int = 3) -> list[ScheduleLeftBehind]:
    """What is told where the schedule is made after the load, as many steps of an exponential one into the file."""
    file = checkpoint(steps)
    with watching(Resumed) as recorded:
        optimizer = SGD(nn.Linear(2, 1).parameters(), lr=0.1)
        optimizer.load_state_dict(torch.load(file)["states"]["opt"])
        _scheduler = make(optimizer)
        optimizer.step()
    return recorded.of(ScheduleLeftBehind)


def back_to_the_top(optimizer: Optimizer) -> LRScheduler:
    optimizer.param_groups[0]["lr"] = optimizer.param_groups[0]["initial_lr"]
    return ExponentialLR(optimizer, 0.5)


def test_another_schedule_is_meant() -> None:
    assert len(resumed_with(lambda optimizer: ExponentialLR(optimizer, 0.5))) == 1
    assert resumed_with(lambda optimizer: ExponentialLR(optimizer, 0.25)) == []
    assert resumed_with(lambda optimizer: CosineAnnealingLR(optimizer, 20)) == []
    assert resumed_with(back_to_the_top) == []


@pytest.mark.parametrize(("factor", "level"), [(1.0, False), (0.5**5, True)])
def test_a_function_that_begins_where_the_file_ends(*, factor: float, level: bool) -> None:
    optimizer = SGD(nn.Linear(2, 1).parameters(), lr=0.1)
    scheduler = LambdaLR(optimizer, lambda step: 0.5**step)
    for _ in range(5):
        optimizer.step()
        scheduler.step()
    file = io.BytesIO()
    torch.save([optimizer.state_dict(), scheduler.state_dict()], file)
    file.seek(0)
    with watching(Resumed) as recorded:
        optimizer = SGD(nn.Linear(2, 1).parameters(), lr=0.1)
        optimizer.load_state_dict(torch.load(file)[0])
        _scheduler = LambdaLR(optimizer, lambda step: factor)
        optimizer.step()
    assert [event.level for event in recorded.of(ScheduleLeftBehind)] == [level]


def load_both(states: Any, optimizer: Optimizer, scheduler: LRScheduler) -> None:
    optimizer_alone(states, optimizer, scheduler)
    scheduler.load_state_dict(states["sched"])


def wind_forward(states: Any, optimizer: Optimizer, scheduler: LRScheduler) -> None:
    optimizer_alone(states, optimizer, scheduler)
    scheduler.last_epoch = states["epoch"]


def another_state(states: Any, optimizer: Optimizer, scheduler: LRScheduler) -> None:
    optimizer.load_state_dict(SGD(nn.Linear(2, 1).parameters(), lr=0.1).state_dict())


@pytest.mark.parametrize("resume", [load_both, wind_forward, another_state, lambda states, optimizer, scheduler: None])
def test_schedules_that_go_on_or_have_nothing_to_do_with_the_file(resume: Resume) -> None:
    assert resumed(resume) == []


def test_a_schedule_that_had_not_begun_is_left_behind_by_nobody() -> None:
    assert resumed(optimizer_alone, steps=0) == []


def wind_by_steps(states: Any, optimizer: Optimizer, scheduler: LRScheduler) -> None:
    optimizer_alone(states, optimizer, scheduler)
    for _ in range(5):
        scheduler.step()


def from_the_top(states: Any, optimizer: Optimizer, scheduler: LRScheduler) -> None:
    optimizer_alone(states, optimizer, scheduler)
    for group in optimizer.param_groups:
        group["lr"] = group["initial_lr"]


def a_new_schedule(states: Any, optimizer: Optimizer, scheduler: LRScheduler) -> None:
    optimizer_alone(states, optimizer, scheduler)
    states["new"] = LambdaLR(optimizer, lambda step: 0.9**step)


@pytest.mark.parametrize(("begins_anew", "told"), [(True, 1), (False, 0)])
def test_of_a_file_without_a_schedule_the_rates_tell(*, begins_anew: bool, told: int) -> None:
    """A schedule by a function may count by itself what is in the file."""
    file, seen = checkpoint(5, sched=None), 0
    with watching(Resumed) as recorded:
        optimizer = SGD(nn.Linear(2, 1).parameters(), lr=0.1)
        scheduler = LambdaLR(optimizer, lambda step: 0.9**step if begins_anew else 0.5**seen)
        optimizer.load_state_dict(torch.load(file)["states"]["opt"])
        seen = 5
        for _ in range(2):
            optimizer.step()
            seen += 1
            scheduler.step()
    events = recorded.of(ScheduleLeftBehind)
    assert [(event.entry, event.steps, event.learning_rates) for event in events] == [("", 0, [0.1 * 0.5**5])] * told
    assert all(event.made_at is not None for event in events)


def test_a_schedule_that_goes_on_from_any_rate_is_left_behind_by_a_count_alone() -> None:
    assert resumed(optimizer_alone, sched={"last_epoch": 7, "best": 0.5}) == []


@pytest.mark.parametrize(
    "resume",
    [wind_forward, wind_by_steps, from_the_top, another_rate, a_new_schedule, another_state],
)
def test_schedules_that_go_on_or_are_new_after_a_file_without_one(resume: Resume) -> None:
    assert resumed(resume, sched=None) == []


def test_a_file_that_was_written_at_the_first_rate_tells_nothing() -> None:
    assert resumed(optimizer_alone, steps=0, sched=None) == []


def test_schedules_of_other_optimizers_do_not_count() -> None:
    file = checkpoint(5)
    with watching(Resumed) as recorded:
        optimizer, other = (SGD(nn.Linear(2, 1).parameters(), lr=0.1) for _ in range(2))
        scheduler = ExponentialLR(other, 0.5)
        optimizer.load_state_dict(torch.load(file)["states"]["opt"])
        optimizer.step()
    assert scheduler.last_epoch == 0
    assert recorded.of(ScheduleLeftBehind) == []
