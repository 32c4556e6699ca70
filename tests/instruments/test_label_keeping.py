"""Samples that are trained on again, beside the labels that they had before."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from unittest.mock import patch

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy, mse_loss
from torch.optim import SGD

from autograd_doctor.events.data import LabelsLost, SamplesMetAgain, TargetsReassigned
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


class Arrays:
    """Inputs and targets that are put into an order in each epoch, by themselves or together."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)
        self.x = self.rng.normal(size=(ROWS, 4)).astype(np.float32)
        self.y = self.x.sum(1)

    def together(self) -> None:
        order = self.rng.permutation(ROWS)
        self.x, self.y = self.x[order], self.y[order]

    def apart(self) -> None:
        self.x = self.x[self.rng.permutation(ROWS)]
        self.y = self.y[self.rng.permutation(ROWS)]

    def batches(self) -> list[tuple[torch.Tensor, torch.Tensor]]:
        parts = [slice(at, at + BATCH) for at in range(0, ROWS, BATCH)]
        return [(torch.from_numpy(self.x[part]), torch.from_numpy(self.y[part])) for part in parts]


Loss = Callable[[nn.Module, torch.Tensor, torch.Tensor], torch.Tensor]


def square(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return mse_loss(model(x).squeeze(1), y)


def reassigned(loss: Loss, order: Callable[[Arrays], None] = Arrays.apart) -> list[TargetsReassigned]:
    torch.manual_seed(0)
    arrays, model = Arrays(), nn.Linear(4, 1)
    with patch.multiple(detail, FIRST_STEPS=1000), watching(LabelKeeping) as events:
        optimizer = SGD(model.parameters(), lr=0.05)
        for _ in range(EPOCHS):
            order(arrays)
            for x, y in arrays.batches():
                loss(model, x, y).backward()
                optimizer.step()
                optimizer.zero_grad()
    assert not events.failures
    return events.of(TargetsReassigned)


@pytest.mark.parametrize("loss", [square, lambda model, x, y: (y - model(x).squeeze(1)).square().mean()])
def test_targets_that_never_belonged_to_their_samples(loss: Loss) -> None:
    (event,) = reassigned(loss)
    assert event.again == (EPOCHS - 1) * ROWS
    assert event.of_others > 0.9 * event.again
    assert event.agreeing < 0.1 * event.again
    assert event.read_at is not None
    assert event.read_at.function == "Arrays.batches.<locals>.<listcomp>"
    assert event.stored_at is not None
    assert event.stored_at.function == "Arrays.apart"
    assert reassigned(loss, Arrays.together) == []


def column_of(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return mse_loss(model(x).repeat(1, 3).gather(1, torch.randint(3, (len(x), 1))).squeeze(1), y)


def weighed(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return mse_loss(model(x).squeeze(1) * torch.randn(len(x)), y)


def told_more(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return mse_loss((model(x) + nn.Linear(2, 1)(torch.randn(len(x), 2))).squeeze(1), y)


class Told(nn.Module):
    """Is given something else beside the inputs."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: torch.Tensor, more: object) -> torch.Tensor:
        return self.model(x).squeeze(1)


@cache
def told_by(model: nn.Module) -> nn.Module:
    return Told(model)


def told_nothing(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return mse_loss(told_by(model)(x, None), y)


def told_numbers(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return mse_loss(told_by(model)(x, torch.rand(len(x)).tolist()), y)


def told_objects(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return mse_loss(told_by(model)(x, object()), y)


def told_codes(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    weight = next(model.parameters())
    return mse_loss(told_by(model)(x, weight[0, int(torch.randint(4, ()))]), y)


def beside_its_own(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    said = model(x).squeeze(1)
    own = torch.from_numpy(np.asarray(x.sum(1)))
    return mse_loss(said, own) + mse_loss(said, y)


@pytest.mark.parametrize(
    "loss", [column_of, weighed, told_more, told_numbers, told_objects, told_codes, beside_its_own]
)
def test_targets_of_samples_that_are_asked_something(loss: Loss) -> None:
    assert reassigned(loss) == []


def test_nothing_is_asked_of_samples_by_none() -> None:
    assert len(reassigned(told_nothing)) == 1
