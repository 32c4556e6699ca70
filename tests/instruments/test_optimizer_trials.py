"""Which optimizers are tried by other ways, and when."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from autograd_doctor.events.efficiency import OptimizerTried
from autograd_doctor.events.run import InstrumentLimited
from autograd_doctor.instruments.efficiency import iteration_times, optimizer_trials
from autograd_doctor.instruments.efficiency.optimizer_trials import OptimizerTrials
from autograd_doctor.reading.optimizer_ways import Way
from autograd_doctor.reading.trials import Undecided
from tests.instruments.test_iteration_times import Clock, Slow, takes
from tests.watching import Recorded, watching

STEPS = 40


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(iteration_times, "LookClock", Clock)
    monkeypatch.setattr(Clock, "now", 0.0)


def _trains(monkeypatch: pytest.MonkeyPatch, seconds: float, answer: Any = None, obstacle: str = "") -> Recorded:
    """Forwards take two seconds, steps so many."""

    def tried(optimizer: torch.optim.Optimizer, budget: float) -> list[Way]:
        if answer is not None:
            raise answer
        assert all(each.grad is not None for group in optimizer.param_groups for each in group["params"])
        return [Way("", [2.0], 0.0), Way("fused", [1.0], 0.25), Way("foreach", [3.0], 0.0)]

    monkeypatch.setattr(optimizer_trials, "tried", tried)
    monkeypatch.setattr(optimizer_trials, "obstacle", lambda optimizer: obstacle)
    with watching(OptimizerTrials) as events:
        model = Slow(4, 1)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.0)
        optimizer.register_step_pre_hook(lambda *_: takes(seconds))
        for _ in range(STEPS):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(torch.ones(8, 4)), torch.ones(8, 1)).backward()
            optimizer.step()
    return events


def test_a_step_that_takes_long_is_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    fused, foreach = _trains(monkeypatch, 2.0).of(OptimizerTried)
    assert (fused.option, fused.before, fused.after, fused.differs) == ("fused", [2.0], [1.0], 0.25)
    assert (foreach.option, foreach.after, foreach.parameters) == ("foreach", [3.0], 2)
    assert fused.location is not None
    assert fused.location.path == __file__


def test_a_step_that_takes_little_is_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _trains(monkeypatch, 0.05).of(OptimizerTried) == []


def test_a_trial_that_fails_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    events = _trains(monkeypatch, 2.0, ValueError("no room"))
    assert [each.reason for each in events.of(InstrumentLimited)] == [
        "other ways of an optimizer were not tried: ValueError: no room"
    ]


def test_an_optimizer_that_torch_knows_one_way_for_is_no_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    events = _trains(monkeypatch, 2.0, Undecided("one way"))
    assert (events.of(InstrumentLimited), events.of(OptimizerTried)) == ([], [])


def test_an_optimizer_with_an_obstacle_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    events = _trains(monkeypatch, 2.0, obstacle="hooks")
    assert (events.of(InstrumentLimited), events.of(OptimizerTried)) == ([], [])
