"""Averages of weights, and who gathers statistics for them."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel

from autograd_doctor.events.cycle import AverageEvaluated
from autograd_doctor.instruments.cycle.averaged_norms import AveragedNorms
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
