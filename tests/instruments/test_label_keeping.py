"""Samples that are trained on again, beside the labels that they had before."""

from __future__ import annotations

from collections.abc import Callable
from unittest.mock import patch

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.optim import SGD

from autograd_doctor.events.data import LabelsLost, SamplesMetAgain
from autograd_doctor.instruments.data.label_keeping import LabelKeeping
from autograd_doctor.instruments.spine import detail
from tests.watching import Recorded, watching

ROWS, BATCH, EPOCHS, FIRST = 60, 12, 8, 3


def lost(labels_of: Callable[[int, torch.Tensor], torch.Tensor]) -> list[LabelsLost]:
    return told(labels_of).of(LabelsLost)


def told(labels_of: Callable[[int, torch.Tensor], torch.Tensor]) -> Recorded:
    """What is told of training in epochs, each of which has labels of its own."""
    torch.manual_seed(0)
    x, model = torch.randn(ROWS, 4), nn.Linear(4, 3)
    with patch.multiple(detail, FIRST_STEPS=1000), watching(LabelKeeping) as events:
        optimizer = SGD(model.parameters(), lr=0.1)
        for epoch in range(EPOCHS):
            labels = labels_of(epoch, x)
            for rows in torch.randperm(ROWS).split(BATCH):
                cross_entropy(model(x[rows]), labels[rows]).backward()
                optimizer.step()
                optimizer.zero_grad()
    assert not events.failures
    return events


def true(x: torch.Tensor) -> torch.Tensor:
    return x[:, :3].argmax(1)


def test_labels_that_are_shuffled_in_each_epoch() -> None:
    (event,) = lost(lambda epoch, x: true(x)[torch.randperm(ROWS)] if epoch >= FIRST else true(x))
    assert (event.since, event.before) == (FIRST * ROWS // BATCH, (FIRST - 1) * ROWS)
    assert event.again == (EPOCHS - FIRST - 1) * ROWS
    assert event.agreeing < 0.5 * event.again
    assert event.location is not None
    assert event.location.function == "told"


def test_labels_that_stay() -> None:
    assert lost(lambda epoch, x: true(x)) == []


def test_how_often_samples_came_again_and_with_which_label() -> None:
    (event,) = told(lambda epoch, x: true(x)).of(SamplesMetAgain)
    assert (event.kept, event.others) == ((EPOCHS - 1) * ROWS, 0)
    (event,) = told(lambda epoch, x: true(x) if epoch < FIRST else (true(x) + 1) % 3).of(SamplesMetAgain)
    assert (event.kept, event.others) == ((EPOCHS - 2) * ROWS, ROWS)


@pytest.mark.parametrize("noise", [False, True])
def test_labels_that_a_model_gives(noise: bool) -> None:
    """They are its own business, however wild."""
    teacher = nn.Linear(4, 3)

    def labels(epoch: int, x: torch.Tensor) -> torch.Tensor:
        if epoch < FIRST:
            return true(x)
        with torch.no_grad():
            said = teacher(x + epoch).argmax(1)
        return said[torch.randperm(ROWS)] if noise else said

    assert lost(labels) == []
