"""Losses of all steps, ten at a time, for each line that backwards run at."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn
from torch.optim import SGD

from autograd_doctor.events.numerics import LossesFollowed
from autograd_doctor.instruments.numerics import loss_curves as module
from autograd_doctor.instruments.numerics.loss_curves import LossCurves
from autograd_doctor.instruments.spine.detail import FIRST_STEPS, Detail
from autograd_doctor.signals.backward import BackwardCall
from tests.inventing import Invented, inventing


def lose(run: Invented, *losses: float) -> None:
    for loss in losses:
        run.ran_backward(torch.full((), loss, requires_grad=True) * 1.0)


def lose_elsewhere(run: Invented, loss: float) -> None:
    """A backward at another line, which is none of `Invented`."""
    root = torch.full((), loss, requires_grad=True) * 1.0
    run.signals.backward.began.send(call := BackwardCall([root], False, False, (), "backward"))
    run.signals.backward.ended.send(call)


def told(run: Invented) -> list[tuple[int, float | None, float | None, float | None, float | None, int]]:
    return [
        (each.backwards, each.opening, each.last, each.low, each.high, each.non_finite)
        for each in run.of(LossesFollowed)
    ]


def test_ten_losses_are_told_together_and_the_rest_at_the_end() -> None:
    with inventing(LossCurves) as run:
        lose(run, 5.0, 1.0, 2.0, 3.0, 9.0, 8.0, 7.0, 6.0, 5.0)
        assert told(run) == []
        lose(run, 4.0, 2.5, 0.5, 1.5)
        assert told(run) == [(10, 5.0, 4.0, 1.0, 9.0, 0)]
    assert told(run)[1:] == [(3, 2.5, 1.5, 0.5, 2.5, 0)]
    assert all(each.location is not None for each in run.of(LossesFollowed))


def test_losses_that_are_not_finite_are_counted() -> None:
    with inventing(LossCurves) as run:
        lose(run, math.inf, 2.0, math.nan, 1.0, math.nan)
    assert told(run) == [(5, 2.0, 1.0, 1.0, 2.0, 3)]


def test_of_losses_none_of_which_is_finite_there_is_no_range() -> None:
    with inventing(LossCurves) as run:
        lose(run, math.nan, math.nan)
    assert told(run) == [(2, None, None, None, None, 2)]


def test_each_line_has_a_curve_of_its_own() -> None:
    with inventing(LossCurves) as run:
        for loss in (1.0, 2.0):
            lose(run, loss)
            lose_elsewhere(run, loss * 10)
    assert [each[1:3] for each in told(run)] == [(1.0, 2.0), (10.0, 20.0)]
    first, second = (each.location for each in run.of(LossesFollowed))
    assert first != second


def test_there_are_not_endlessly_many_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_LINES", 1)
    with inventing(LossCurves) as run:
        lose(run, 1.0, 2.0)
        lose_elsewhere(run, 3.0)
        lose(run, 4.0)
    assert told(run) == [(3, 1.0, 4.0, 1.0, 4.0, 0)]


def test_what_is_no_loss_is_not_followed() -> None:
    weight = torch.ones(2, requires_grad=True)
    with inventing(LossCurves) as run:
        lose(run, 1.0)
        with run.backward(weight * 2.0):
            pass
        with run.backward((weight * 2.0).sum(), kind="grad"):
            pass
    assert told(run) == [(1, 1.0, 1.0, 1.0, 1.0, 0)]


def test_losses_of_light_steps_count_as_well() -> None:
    weight = nn.Parameter(torch.ones(2))
    optimizer = SGD([weight], lr=0.1)
    with inventing(LossCurves) as run:
        run.signals.optimizers.built.send(optimizer)
        for step in range(FIRST_STEPS + 8):
            run.ran_backward(weight.sum() * 0.0 + float(step))
            with run.step(optimizer):
                pass
        assert not run.find(Detail).full
    first, second = run.of(LossesFollowed)
    assert (first.first, first.step, first.last) == (0, 9, 9.0)
    assert (second.first, second.opening, second.last) == (10, 10.0, 17.0)
