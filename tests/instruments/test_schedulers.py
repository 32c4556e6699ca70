"""Steps of learning-rate schedulers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn
from torch.optim import SGD, lr_scheduler
from torch.optim.lr_scheduler import LRScheduler

from autograd_doctor.events.cycle import SchedulerStepped
from autograd_doctor.instruments.cycle.schedulers import Schedulers
from autograd_doctor.signals.schedulers import ScheduleCall
from tests.inventing import Invented, inventing
from tests.watching import watching


def sgd() -> SGD:
    return SGD([nn.Parameter(torch.ones(1))], lr=0.5)


def warmed_up(optimizer: SGD, then: LRScheduler) -> LRScheduler:
    return lr_scheduler.SequentialLR(optimizer, [lr_scheduler.LinearLR(optimizer, 0.1), then], milestones=[3])


def began(run: Invented, scheduler: LRScheduler, *, constructing: bool = False) -> ScheduleCall:
    call = ScheduleCall(scheduler, constructing)
    run.signals.schedulers.began.send(call)
    return call


def ended(run: Invented, call: ScheduleCall, *, raised: bool = False) -> None:
    call.raised = raised
    run.signals.schedulers.ended.send(call)


def test_a_step_of_a_scheduler():
    optimizer = sgd()
    schedule = lr_scheduler.StepLR(optimizer, 1)
    with inventing(Schedulers) as run:
        ended(run, began(run, schedule))
        ended(run, began(run, lr_scheduler.StepLR(optimizer, 1)))
        first, second = run.of(SchedulerStepped)
        assert (first.scheduler, first.name, first.kind, first.optimizer) == (0, "schedule", "StepLR", 0)
        assert (first.learning_rates, first.first, first.length) == ([0.5], False, None)
        assert first.location is not None
        assert (second.scheduler, second.optimizer) == (1, 0)


def test_the_call_that_its_constructor_makes_is_the_first():
    schedule = lr_scheduler.StepLR(sgd(), 1)
    with inventing(Schedulers) as run:
        construction = began(run, schedule, constructing=True)
        ended(run, began(run, schedule))
        ended(run, construction)
        ended(run, began(run, schedule))
        first, second = run.of(SchedulerStepped)
        assert (first.first, first.name) == (True, "")
        assert (second.first, second.name, second.scheduler) == (False, "schedule", 0)


def test_a_scheduler_that_steps_others_counts_once():
    inner, outer = (lr_scheduler.StepLR(sgd(), 1) for _ in range(2))
    with inventing(Schedulers) as run:
        call = began(run, outer)
        ended(run, began(run, inner))
        ended(run, call)
        assert [event.name for event in run.of(SchedulerStepped)] == ["outer"]


def test_a_step_that_raised_does_not_count():
    schedule = lr_scheduler.StepLR(sgd(), 1)
    with inventing(Schedulers) as run:
        ended(run, began(run, schedule), raised=True)
        assert run.of(SchedulerStepped) == []
        ended(run, began(run, schedule))
        assert len(run.of(SchedulerStepped)) == 1


@pytest.mark.parametrize(
    ("make", "length"),
    [
        (lambda each: lr_scheduler.CosineAnnealingLR(each, T_max=7), 7),
        (lambda each: lr_scheduler.OneCycleLR(each, 1.0, total_steps=9), 9),
        (lambda each: lr_scheduler.LinearLR(each, total_iters=4), 4),
        (lambda each: lr_scheduler.MultiStepLR(each, [3, 8, 5]), 8),
        (lambda each: lr_scheduler.MultiStepLR(each, []), None),
        (lambda each: lr_scheduler.ExponentialLR(each, 0.9), None),
        (lambda each: warmed_up(each, lr_scheduler.CosineAnnealingLR(each, T_max=7)), 10),
        (lambda each: warmed_up(each, lr_scheduler.ExponentialLR(each, 0.9)), None),
    ],
)
def test_how_long_a_schedule_is(make, length):
    with inventing(Schedulers) as run:
        ended(run, began(run, make(sgd())))
        assert run.of(SchedulerStepped)[0].length == length


def test_an_optimizer_that_a_framework_wrapped_or_that_is_none():
    wrapped, strange = (lr_scheduler.StepLR(sgd(), 1) for _ in range(2))
    with inventing(Schedulers) as run:
        wrapped.optimizer = SimpleNamespace(optimizer=wrapped.optimizer)  # type: ignore[assignment]
        unknown: Any = object()
        strange.optimizer = unknown
        for each in (wrapped, strange):
            ended(run, began(run, each))
        assert [(event.optimizer, event.learning_rates) for event in run.of(SchedulerStepped)] == [
            (0, [0.5]),
            (None, []),
        ]


def test_the_last_call_of_those_in_light_steps_is_told_at_the_end():
    model = nn.Linear(2, 1)
    with watching(Schedulers) as recorded:
        optimizer = SGD(model.parameters(), lr=0.5)
        schedule = lr_scheduler.StepLR(optimizer, 2)
        for step in range(23):
            model(torch.ones(1, 2)).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
            if step % 3 == 2:
                schedule.step()
        rate = optimizer.param_groups[0]["lr"]
    last = recorded.of(SchedulerStepped)[-1]
    assert (last.name, last.step, last.count, last.learning_rates, last.first) == ("schedule", 21, 7, [rate], False)
    counts = [event.count for event in recorded.of(SchedulerStepped)]
    assert counts == sorted(set(counts))
    assert len(counts) < 7


def test_of_calls_in_light_steps_few_tell_how_evenly_the_rate_went() -> None:
    model = nn.Linear(2, 1)
    with watching(Schedulers) as recorded:
        optimizer = SGD(model.parameters(), lr=0.5)
        for _ in range(16):
            model(torch.ones(1, 2)).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
        schedule = lr_scheduler.LinearLR(optimizer, 0.01, total_iters=100)
        for _ in range(7):
            schedule.step()
    *_, told, second, third, last = recorded.of(SchedulerStepped)
    assert [told.count, second.count, third.count, last.count] == [1, 2, 4, 7]
    assert second.learning_rates < third.learning_rates < last.learning_rates
    assert [event.base_rate for event in (told, second, third, last)] == [0.5] * 4


def test_the_last_call_of_a_scheduler_that_is_gone_is_told_as_well():
    model = nn.Linear(2, 1)
    with watching(Schedulers) as recorded:
        optimizer = SGD(model.parameters(), lr=0.5)
        schedule = lr_scheduler.StepLR(optimizer, 2)
        for _ in range(16):
            model(torch.ones(1, 2)).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
        full = len(recorded.of(SchedulerStepped))
        schedule.step()
        del schedule
    *before, last = recorded.of(SchedulerStepped)
    assert (len(before), last.step, last.count, last.learning_rates, last.first) == (full, 16, 1, [0.5], False)


def test_the_highest_rate_counts_that_was_left_in_a_light_step() -> None:
    model = nn.Linear(2, 1)
    with watching(Schedulers) as recorded:
        optimizer = SGD(model.parameters(), lr=0.5)
        schedule = lr_scheduler.LambdaLR(optimizer, lambda step: 4.0 if step == 14 else 1.0)
        for _ in range(40):
            model(torch.ones(1, 2)).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
            schedule.step()
    calls = recorded.of(SchedulerStepped)
    assert max(rate for call in calls for rate in call.learning_rates if rate is not None) == 0.5
    assert (calls[0].highest, calls[-1].highest) == (0.5, 2.0)
