"""Averages of weights, and who gathers statistics for them."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel

from autograd_doctor.events.cycle import AverageEvaluated
from autograd_doctor.instruments.cycle.averaged_norms import AveragedNorms
from autograd_doctor.instruments.cycle.averages import Averages
from tests.inventing import inventing


def runs(run, module: nn.Module, *, training: bool) -> None:
    with run.calling(module.train(training), torch.ones(2, 3), grad_enabled=False):
        pass


@pytest.mark.parametrize(
    ("gathers", "told"),
    [
        (lambda model, average: [average], 0),
        (lambda model, average: [average.module], 0),
        (lambda model, average: list(average.module), 0),
        (lambda model, average: [average.module[0]], 1),
        (lambda model, average: [model], 1),
        (lambda model, average: [], 1),
    ],
)
def test_statistics_are_gathered_by_the_average_or_the_model_in_it(gathers, told):
    model = nn.Sequential(nn.BatchNorm1d(3), nn.BatchNorm1d(3))
    average = AveragedModel(model)
    average.update_parameters(model)
    with inventing(AveragedNorms) as run:
        for module in gathers(model, average):
            runs(run, module, training=True)
        runs(run, average, training=False)
        run.find(AveragedNorms).finish()
        assert len(run.of(AverageEvaluated)) == told


def heard(run, weights, *, every: int = 5, own: float | None = None) -> None:
    """A copy of one model, then means of two and of three, so many steps apart."""
    for models in (1, 2, 3):
        for weight in weights:
            kept = 1 - 1 / models if own is None else own
            run.find(Averages).equal.hear(weight, kept, 1 - kept, step=every * models)


@pytest.mark.parametrize(
    ("facts", "copies_statistics", "gathers", "told"),
    [
        ({}, True, False, 1),
        ({}, False, False, 0),
        ({}, True, True, 0),
        ({"every": 1}, True, False, 0),
        ({"own": 0.5}, True, False, 0),
        ({"own": 0.9}, True, False, 0),
    ],
    ids=["mean", "its own statistics", "gathers", "mean of all steps", "half of the last", "moving"],
)
def test_what_a_program_averages_by_itself(facts, copies_statistics, gathers, told):
    model, other = (nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3)) for _ in range(2))
    mean = [torch.rand_like(weight) for weight in model.parameters()]
    with inventing(AveragedNorms) as run:
        runs(run, model, training=True)
        nn.init.constant_(model[1].running_mean, 2.0)
        heard(run, mean, **facts)
        if copies_statistics:
            other.load_state_dict(model.state_dict())
        with torch.no_grad():
            for mine, each in zip(other.parameters(), mean, strict=True):
                mine.copy_(each)
        runs(run, other, training=False)
        if gathers:
            runs(run, other, training=True)
        run.find(AveragedNorms).finish()
        assert [(event.averaged, event.by_hand) for event in run.of(AverageEvaluated)] == [(3, True)] * told


def test_weights_of_which_one_is_no_average_are_none():
    model, other = (nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3)) for _ in range(2))
    other.load_state_dict(model.state_dict())
    with inventing(AveragedNorms) as run:
        runs(run, model, training=True)
        heard(run, list(model.parameters())[:-1])
        runs(run, other, training=False)
        run.find(AveragedNorms).finish()
        assert run.of(AverageEvaluated) == []
