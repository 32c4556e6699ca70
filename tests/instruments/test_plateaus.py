"""What schedules that follow a metric are given, and what came before."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import nn
from torch.optim.lr_scheduler import ReduceLROnPlateau

from autograd_doctor.events.cycle import MetricFollowed
from autograd_doctor.instruments.cycle.plateaus import Plateaus
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.choosers import Choice, Predicted
from tests.watching import watching

Compare = Callable[[torch.Tensor, torch.Tensor], object]


def followed(compare: Compare) -> MetricFollowed:
    """Two epochs of a step and an evaluation of two batches, of which three of four answers are right in each."""
    with watching(Plateaus) as recorded:
        model = nn.Linear(2, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        plateau = ReduceLROnPlateau(optimizer)
        for _ in range(2):
            model(torch.ones(3, 2)).square().mean().backward()
            optimizer.step()
            for answers in (torch.tensor([1, 0, 1, 1]), torch.tensor([0, 0, 0, 1])):
                with torch.no_grad():
                    model(torch.ones(4, 2))
                compare(answers, torch.tensor([1, 0, 0, 1]) if answers[0] else torch.tensor([0, 0, 0, 0]))
            plateau.step(0.75)
    (event,) = recorded.of(MetricFollowed)
    return event


@pytest.mark.parametrize(
    ("compare", "equal"),
    [
        (lambda one, other: one == other, [(6, 8)]),
        (lambda one, other: one != other, [(6, 8)]),
        (lambda one, other: torch.eq(one, other).float().mean(), [(6, 8)]),
        (lambda one, other: (one == other).sum() + (one != other).sum(), [(6, 8), (6, 8)]),
        (lambda one, other: one == 1, []),
        (lambda one, other: one.numpy() == other.numpy(), []),
    ],
    ids=["equal", "not equal", "by a function", "at two places", "with a number", "as arrays"],
)
def test_what_is_found_equal_between_two_calls(compare: Compare, equal: list[tuple[int, int]]) -> None:
    event = followed(compare)
    assert event.equal == [equal, equal]
    assert (event.rows, event.metrics, event.mode) == ([8, 8], [0.75, 0.75], "min")


def test_what_a_loss_of_an_evaluation_may_have_been_averaged_to() -> None:
    with watching(Plateaus) as recorded:
        model = nn.Linear(2, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        plateau = ReduceLROnPlateau(optimizer)
        nn.functional.mse_loss(model(torch.ones(3, 2)), torch.ones(3, 1)).backward()
        optimizer.step()
        with torch.no_grad():
            for error, rows in ((1.0, 3), (2.0, 1)):
                nn.functional.l1_loss(torch.full((rows, 1), error), torch.zeros(rows, 1))
        plateau.step(1.25)
    (event,) = recorded.of(MetricFollowed)
    assert event.evaluated == [[(1.5, 0.75, 1.25)]]


class Chooser:
    pass


def choice(chooser: Chooser, metric: object, *, refused: bool = False) -> Choice:
    return Choice(chooser, chooser, "ModelCheckpoint", "mode", "val", "max", metric, refused)


def test_who_chooses_by_a_metric_is_told_of_the_same_evaluation_as_a_schedule() -> None:
    with watching(Plateaus) as recorded:
        signals, keep = recorded.session.signals, Chooser()
        signals.choosers.made.send(keep)
        model = nn.Linear(2, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        plateau = ReduceLROnPlateau(optimizer)
        for refused in (False, True):
            with torch.no_grad():
                model(torch.ones(50, 2))  # of a check before training, which counts for nobody
            for _ in range(3):
                loss = model(torch.ones(3, 2)).square().mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                (torch.randn(3) == torch.randn(3)).sum()
            with torch.no_grad():
                (model(torch.ones(4, 2)).squeeze() == torch.randn(4)).sum()
            plateau.step(0.5)
            signals.choosers.chose.send(choice(keep, torch.tensor(0.25), refused=refused))
    schedule, chooser = recorded.of(MetricFollowed)
    assert (chooser.rows, chooser.equal, chooser.losses) == (schedule.rows, schedule.equal, schedule.losses)
    assert (chooser.rows, chooser.equal, chooser.at) == ([4, 4], [[(0, 4)]] * 2, [3, 6])
    assert (chooser.name, chooser.monitor, chooser.mode, chooser.refused) == ("keep", "val", "max", 1)
    assert chooser.metrics == [0.25, 0.25]


def test_two_answers_of_models_are_no_hits() -> None:
    with watching(Plateaus) as recorded:
        keep, model = Chooser(), nn.Linear(2, 3)
        with torch.no_grad():
            first, second = (model(torch.randn(20, 2)).argmax(1) for _ in range(2))
            (first == second).sum()
        recorded.session.signals.choosers.chose.send(choice(keep, 0.5))
    (event,) = recorded.of(MetricFollowed)
    assert (event.rows, event.equal) == ([40], [[]])


def test_what_is_of_no_model_counts_for_a_schedule_alone() -> None:
    with watching(Plateaus) as recorded:
        keep, model = Chooser(), nn.Linear(2, 3)
        plateau = ReduceLROnPlateau(torch.optim.SGD(model.parameters(), lr=0.1))
        with torch.no_grad():
            model(torch.randn(20, 2))
            (torch.randn(20) == torch.randn(20)).sum()
            nn.functional.mse_loss(torch.randn(20), torch.randn(20))
        plateau.step(0.5)
        recorded.session.signals.choosers.chose.send(choice(keep, 0.5))
    schedule, chooser = recorded.of(MetricFollowed)
    assert (len(schedule.equal[0]), len(schedule.evaluated[0])) == (1, 1)
    assert (chooser.equal, chooser.evaluated) == ([[]], [[]])


def test_answers_that_are_all_compared_with_one_class_are_no_hits() -> None:
    with watching(Plateaus) as recorded:
        keep, model = Chooser(), nn.Linear(2, 3)
        with torch.no_grad():
            answers = model(torch.randn(20, 2)).argmax(1)
            (answers == torch.full_like(answers, 2)).sum()
            (answers == torch.tensor(2)).sum()
        recorded.session.signals.choosers.chose.send(choice(keep, 0.5))
    (event,) = recorded.of(MetricFollowed)
    assert (event.rows, event.equal) == ([20], [[]])


SCORES = np.array([[0.1, 0.9], [0.8, 0.2], [0.3, 0.7]])


@pytest.mark.parametrize(
    ("predictions", "labels", "equal"),
    [
        (SCORES, np.array([1, 0, 0]), [(2, 3)]),
        ((SCORES, np.zeros(7)), np.array([1, 0, -100]), [(2, 2)]),
        (np.array([1, 0, 1]), np.array([1, 1, 1]), [(2, 3)]),
        (SCORES, np.array([0.5, 0.5, 0.5]), []),
        (SCORES, np.array([0, 1]), []),
        (None, np.array([0, 1]), []),
    ],
    ids=["scores", "the first of several", "answers", "no labels", "of other samples", "none"],
)
def test_hits_among_what_a_framework_has_gathered(predictions: object, labels: object, equal: object) -> None:
    with watching(Plateaus) as recorded:
        signals = recorded.session.signals.choosers
        signals.predicted.send(Predicted(predictions, labels))
        signals.chose.send(choice(Chooser(), 0.5))
    (event,) = recorded.of(MetricFollowed)
    assert event.equal == [equal]


def test_losses_are_read_of_steps_that_are_glanced_at_only() -> None:
    with watching(Plateaus) as recorded:
        keep, weight = Chooser(), nn.Parameter(torch.tensor(1.0))
        optimizer = torch.optim.SGD([weight], lr=0.0)
        recorded.attend(Attention.GLANCE)
        for scales in ((1.0, 3.0), (4.0,)):
            for scale in scales:
                (scale * weight).backward()
                optimizer.step()
            recorded.session.signals.choosers.chose.send(choice(keep, scales[0]))
    (event,) = recorded.of(MetricFollowed)
    assert event.losses == [2.0, 4.0]
