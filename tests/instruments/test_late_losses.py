"""Losses of all steps in their order, also where those of light steps are known some steps later."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import nn
from torch.optim import SGD

from autograd_doctor.events.cycle import MetricFollowed
from autograd_doctor.events.numerics import GradientMeasured, LossesFollowed
from autograd_doctor.events.run import InstrumentLimited, LightStepsCounted, MoreDetailNeeded
from autograd_doctor.instruments.cycle import plateaus
from autograd_doctor.instruments.cycle.plateaus import Plateaus
from autograd_doctor.instruments.instrument import Instrument
from autograd_doctor.instruments.numerics import autopsies
from autograd_doctor.instruments.numerics.autopsies import Autopsies
from autograd_doctor.instruments.numerics.gradient_spikes import GradientSpikes
from autograd_doctor.instruments.numerics.loss_curves import LossCurves
from autograd_doctor.instruments.spine import late_losses, late_values, light_steps
from autograd_doctor.instruments.spine.detail import FIRST_STEPS, Detail
from autograd_doctor.instruments.spine.late_losses import KnownLoss, LateLosses
from autograd_doctor.signals.schedulers import ScheduleCall
from tests.inventing import Invented, inventing


@pytest.fixture(autouse=True)
def far_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """All tensors are said to lie on an accelerator."""
    for module in (late_losses, late_values, light_steps, autopsies):
        monkeypatch.setattr(module, "is_remote", lambda tensor: True)


class Loop:
    """A loop whose losses a test chooses."""

    def __init__(self, run: Invented) -> None:
        self.run = run
        self.weight = nn.Parameter(torch.ones(2))
        self.optimizer = SGD([self.weight], lr=0.1)
        run.signals.optimizers.built.send(self.optimizer)

    def steps(self, *losses: float) -> None:
        for loss in losses:
            self.run.ran_backward(self.weight.sum() * 0.0 + loss)
            with self.run.step(self.optimizer):
                pass

    def until_light(self) -> None:
        self.steps(*[1.0] * FIRST_STEPS)
        assert not self.run.find(Detail).full


def light(*losses: float, attached: Sequence[type[Instrument]]) -> Invented:
    with inventing(*attached) as run:
        loop = Loop(run)
        loop.until_light()
        loop.steps(*losses)
    return run


def test_losses_are_told_in_order() -> None:
    told: list[Any] = []
    with inventing(LateLosses) as run:
        told = run.heard(run.find(LateLosses).known)
        loop = Loop(run)
        loop.until_light()
        assert [loss.late for loss in told] == [False] * FIRST_STEPS
        loop.steps(*map(float, range(8)))
        assert len(told) == FIRST_STEPS
    expected = [*[(step, 1.0) for step in range(FIRST_STEPS)], *[(FIRST_STEPS + n, float(n)) for n in range(8)]]
    assert [(loss.step, loss.value) for loss in told] == expected
    assert all(isinstance(loss, KnownLoss) and loss.place is not None for loss in told)
    assert [loss.late for loss in told[FIRST_STEPS:]] == [True] * 8


def test_what_the_program_does_to_a_loss_later_does_not_change_it() -> None:
    with inventing(LateLosses) as run:
        told = run.heard(run.find(LateLosses).known)
        loop = Loop(run)
        loop.until_light()
        loss = loop.weight.sum() * 0.0 + 3.0
        run.ran_backward(loss)
        loss.detach().mul_(100.0)
    assert told[-1].value == 3.0


def test_the_curve_is_whole() -> None:
    run = light(*map(float, range(12)), attached=[LossCurves])
    curve = run.of(LossesFollowed)
    assert sum(each.backwards for each in curve) == FIRST_STEPS + 12
    assert curve[-1].last == 11.0
    assert [loss for each in curve for _, loss in each.early] == [1.0] * FIRST_STEPS + list(map(float, range(12)))


def test_the_newest_loss_of_a_stretch_is_stated_with_its_steps() -> None:
    run = light(*map(float, range(20)), attached=[LossCurves])
    assert [each.loss for each in run.of(LightStepsCounted)][-1] in map(float, range(20))


def test_a_loss_that_stood_out_leaves_gradients_unmeasured_and_that_is_said() -> None:
    run = light(1.0, 50.0, 1.0, attached=[GradientSpikes])
    assert run.of(GradientMeasured) == []
    assert [each.instrument for each in run.of(InstrumentLimited)] == ["gradient_spikes"]


def test_where_no_loss_stood_out_nothing_is_lacking() -> None:
    assert light(1.0, 1.5, 1.0, attached=[GradientSpikes]).of(InstrumentLimited) == []


def test_a_loss_that_is_not_finite_asks_for_its_own_step() -> None:
    run = light(1.0, 1.0, math.nan, 1.0, attached=[Autopsies])
    assert [each.step for each in run.of(MoreDetailNeeded)] == [FIRST_STEPS + 2]


def test_finite_losses_ask_for_nothing() -> None:
    assert light(1.0, 2.0, attached=[Autopsies]).of(MoreDetailNeeded) == []


@pytest.mark.parametrize(("value", "asks"), [(math.nan, True), (1.0, False)])
@pytest.mark.parametrize("goes_on", [True, False])
def test_a_number_that_the_program_read_and_did_without(value: float, asks: bool, goes_on: bool) -> None:
    with inventing(Autopsies) as run:
        loop = Loop(run)
        loop.until_light()
        run.signals.value_reads.read.send(loop.weight.sum() * 0.0 + value)
        loop.steps(*[1.0] * goes_on)
    assert [each.step for each in run.of(MoreDetailNeeded)] == [FIRST_STEPS] * asks


def test_a_number_that_went_backward_as_well_is_asked_for_once() -> None:
    with inventing(Autopsies) as run:
        loop = Loop(run)
        loop.until_light()
        loss = loop.weight.sum() * 0.0 + math.nan
        run.signals.value_reads.read.send(loss)
        run.ran_backward(loss)
    assert len(run.of(MoreDetailNeeded)) == 1


def test_a_schedule_is_told_the_mean_of_the_losses_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plateaus, "variable_name", lambda value: "schedule")
    with inventing(Plateaus) as run:
        loop = Loop(run)
        loop.until_light()
        schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(loop.optimizer)
        for losses in ((2.0, 4.0), (6.0,)):
            loop.steps(*losses)
            run.signals.schedulers.ended.send(ScheduleCall(schedule, metric=torch.tensor(losses[-1])))
    (followed,) = run.of(MetricFollowed)
    assert followed.metrics == [4.0, 6.0]
    assert followed.losses == [pytest.approx((FIRST_STEPS + 6.0) / (FIRST_STEPS + 2)), 6.0]
