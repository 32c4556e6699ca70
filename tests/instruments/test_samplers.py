"""Samples that loaders draw, pass by pass."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, SubsetRandomSampler, TensorDataset, default_collate

from autograd_doctor.events.data import SamplerRepeats
from autograd_doctor.instruments.data.samplers import Samplers
from autograd_doctor.signals.fetches import Fetch
from autograd_doctor.signals.loaders import BatchAsked, PassBegan
from tests.inventing import Invented, inventing


class Iterator:
    """Stands for torch's own."""


def loader(data: Dataset[Any], samples: range) -> DataLoader[Any]:
    return DataLoader(data, batch_size=5, sampler=SubsetRandomSampler(samples))


def passed(run: Invented, each: DataLoader[Any], samples: range, *, cut: bool = False, whole: bool = True) -> None:
    iterator: Any = Iterator()
    run.signals.loaders.began.send(PassBegan(each, iterator))
    asked = BatchAsked(iterator)
    run.signals.loaders.asked.send(asked)
    run.signals.fetches.began.send(Fetch(each.dataset, list(samples), default_collate))
    asked.only_the_last = cut
    run.signals.loaders.drawn.send(asked)
    if whole:
        run.signals.loaders.exhausted.send(asked)


def told(run: Invented) -> list[tuple[str, int, int, int, bool]]:
    run.find(Samplers).finish()
    found = run.of(SamplerRepeats)
    return [(event.sampler, event.drawn, event.rows, event.passes, event.evaluated) for event in found]


@pytest.mark.parametrize("evaluated", [False, True])
def test_the_same_part_in_each_pass(evaluated):
    with inventing(Samplers) as run:
        x = torch.rand(40, 3)
        data = loader(TensorDataset(x), range(10))
        for _ in range(3):
            passed(run, data, range(10))
        if evaluated:
            with torch.no_grad(), run.calling(nn.Linear(3, 1), x, grad_enabled=False):
                pass
        assert told(run) == [("SubsetRandomSampler", 10, 40, 3, evaluated)]


@pytest.mark.parametrize("case", ["other samples", "cut", "left", "rest elsewhere", "unknown rows"])
def test_what_may_reach_the_rest(case):
    with inventing(Samplers) as run:
        x = torch.rand(40, 3)
        data, other = loader(TensorDataset(x), range(10)), loader(TensorDataset(x + 1), range(10, 40))
        for each in range(3):
            samples = range(each, each + 10) if case == "other samples" else range(10)
            passed(run, data, samples, cut=case == "cut", whole=case != "left")
        if case == "rest elsewhere":
            passed(run, other, range(10, 40))
        if case == "unknown rows":
            with torch.no_grad(), run.calling(nn.Linear(3, 1), x + 1, grad_enabled=False):
                pass
        assert told(run) == []
