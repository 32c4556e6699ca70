"""Checkpoints that are the last in their folder by name as text."""

from __future__ import annotations

import os
from pathlib import Path

import torch
from torch import nn
from torch.optim import SGD

from autograd_doctor.events.data import CheckpointsReadInTurn, OlderCheckpointUsed
from autograd_doctor.instruments.data import checkpoint_files as module
from autograd_doctor.instruments.data.checkpoint_files import CheckpointFiles
from tests.watching import Recorded, watching


def step(model: nn.Module) -> None:
    optimizer = SGD(model.parameters(), lr=0.1)
    model(torch.ones(2, 3)).sum().backward()
    optimizer.step()


def written(folder: Path, model: nn.Module) -> None:
    for second, number in enumerate((8, 9, 10)):
        path = folder / f"e{number}.pt"
        torch.save(model.state_dict(), path)
        os.utime(path, (second, second))


def read(model: nn.Module, folder: Path, name: str) -> None:
    model.load_state_dict(torch.load(folder / name))


def told(run: Recorded) -> list[str]:
    return [event.name for event in run.of(OlderCheckpointUsed)]


def test_it_is_told_when_training_goes_on(tmp_path: Path) -> None:
    model = nn.Linear(3, 1)
    written(tmp_path, model)
    with watching(CheckpointFiles) as run:
        step(model)
        os.listdir(tmp_path)
        read(model, tmp_path, "e9.pt")
        assert told(run) == []
        step(model)
        assert told(run) == ["e9.pt"]
        assert run.of(CheckpointsReadInTurn) == []
        read(model, tmp_path, "e8.pt")
        assert len(run.of(CheckpointsReadInTurn)) == 1, "of the same list"


def test_without_a_look_into_the_folder_it_was_chosen_in_another_way(tmp_path: Path) -> None:
    model = nn.Linear(3, 1)
    written(tmp_path, model)
    with watching(CheckpointFiles) as run:
        os.listdir(tmp_path)
        step(model)
        read(model, tmp_path, "e9.pt")
        step(model)
        assert told(run) == []


def test_the_latest_folders_are_kept_in_mind(tmp_path: Path) -> None:
    model = nn.Linear(3, 1)
    written(tmp_path, model)
    with watching(CheckpointFiles) as run:
        step(model)
        for number in range(module._MOST_FOLDERS + 5):
            (tmp_path / str(number)).mkdir()
            os.listdir(tmp_path / str(number))
        next(os.scandir(tmp_path))
        read(model, tmp_path, "e9.pt")
        step(model)
        assert told(run) == ["e9.pt"]
