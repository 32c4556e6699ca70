"""Gradients of light steps whose loss stands out."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn
from torch.optim import SGD

from autograd_doctor.events.numerics import GradientMeasured
from autograd_doctor.instruments.cycle.loss_scales import LossScales
from autograd_doctor.instruments.numerics import gradient_spikes as module
from autograd_doctor.instruments.numerics.gradient_spikes import GradientSpikes
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.scalers import ScalerCall
from tests.inventing import Invented, inventing


class Loop:
    """A loop whose losses a test chooses: only where they stand out are its gradients of interest."""

    def __init__(self, run: Invented) -> None:
        self.run = run
        self.weight, self.other = nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(1))
        self.optimizer = SGD([self.weight, self.other], lr=0.1)

    def steps(self, *losses: float, full: bool = False) -> None:
        for loss in losses:
            self.run.find(Course).loss_seen(loss)
            self.run.attend(Attention.FULL if full else Attention.LIGHT)
            self.weight.grad = torch.tensor([3.0, 4.0])
            with self.run.step(self.optimizer):
                pass


ORDINARY = (1.0, 1.2, 0.8, 1.0, 1.1)


def test_gradients_are_measured_where_the_loss_stands_out() -> None:
    with inventing(GradientSpikes) as run:
        loop = Loop(run)
        loop.steps(*ORDINARY, 3.9)
        assert run.of(GradientMeasured) == []
        loop.steps(4.5)
        (event,) = run.of(GradientMeasured)
        assert (event.optimizer, event.parameters, event.norms) == (0, [run.number(loop.weight)], [5.0])
        assert event.loss == 4.5
        assert event.location is not None


def test_a_loss_below_zero_may_stand_out() -> None:
    with inventing(GradientSpikes) as run:
        Loop(run).steps(*(-loss for loss in ORDINARY), -9.0)
        assert len(run.of(GradientMeasured)) == 1


def test_what_is_ordinary_has_to_be_known_first() -> None:
    with inventing(GradientSpikes) as run:
        Loop(run).steps(*ORDINARY[:4], 100.0)
        assert run.of(GradientMeasured) == []


def test_what_is_ordinary_changes_in_time() -> None:
    with inventing(GradientSpikes) as run:
        loop = Loop(run)
        loop.steps(*[1.0] * 30, *[3.0] * 15)
        loop.steps(11.0)
        assert run.of(GradientMeasured) == []
        loop.steps(13.0)
        assert len(run.of(GradientMeasured)) == 1


def test_recorded_steps_are_measured_by_others() -> None:
    with inventing(GradientSpikes) as run:
        loop = Loop(run)
        loop.steps(*ORDINARY)
        loop.steps(100.0, full=True)
        assert run.of(GradientMeasured) == []


@pytest.mark.parametrize("loss", [None, math.nan, math.inf])
def test_a_loss_that_is_no_number_says_nothing(loss: float | None) -> None:
    with inventing(GradientSpikes) as run:
        loop = Loop(run)
        loop.steps(*ORDINARY)
        for _ in range(20):
            run.find(Course).loss_seen(loss)
            with run.step(loop.optimizer):
                pass
        loop.steps(9.0)
        assert [event.loss for event in run.of(GradientMeasured)] == [9.0]


def test_losses_of_optimizers_are_told_apart() -> None:
    with inventing(GradientSpikes) as run:
        small, large = Loop(run), Loop(run)
        for _ in range(6):
            small.steps(1.0)
            large.steps(50.0)
        assert run.of(GradientMeasured) == []


def test_there_is_an_end_to_looking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_LOOKS", 2)
    with inventing(GradientSpikes) as run:
        Loop(run).steps(*ORDINARY, 10.0, 100.0, 1000.0)
        assert [event.loss for event in run.of(GradientMeasured)] == [10.0, 100.0]


def test_a_step_that_a_scaler_suppresses_is_none() -> None:
    with inventing(GradientSpikes) as run:
        loop = Loop(run)
        loop.steps(*ORDINARY)
        loop.optimizer.found_inf = torch.ones(1)  # type: ignore[attr-defined]
        loop.steps(100.0)
        assert run.of(GradientMeasured) == []


def test_gradients_are_told_without_the_scale_of_the_loss() -> None:
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    scaler.scale(torch.ones(()))
    with inventing(GradientSpikes, LossScales) as run:
        loop = Loop(run)
        loop.steps(*ORDINARY)
        run.signals.scalers.began.send(call := ScalerCall(scaler, "scale", None))
        run.signals.scalers.ended.send(call)
        loop.steps(100.0)
        loop.optimizer.grad_scale = torch.tensor(4.0)  # type: ignore[attr-defined]
        loop.steps(100.0)
        assert [event.norms for event in run.of(GradientMeasured)] == [[0.625], [1.25]]
