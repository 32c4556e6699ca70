"""Models in `DistributedDataParallel`: which gradients are averaged is known as it was when they were wrapped."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from autograd_doctor.events.replicas import ModelWrapped
from autograd_doctor.events.subjects import ParameterSeen
from autograd_doctor.instruments.ranks.wrapped_models import WrappedModels
from autograd_doctor.instruments.spine.ledger import Ledger
from tests.watching import Recorded, watching


@pytest.fixture(autouse=True)
def group(tmp_path: Path) -> Iterator[None]:
    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/meeting", rank=0, world_size=1)
    yield
    dist.destroy_process_group()


def reduced(events: Recorded) -> list[list[str]]:
    names = {seen.parameter: seen.name for seen in events.of(ParameterSeen)}
    return [[names[number] for number in wrapped.reduced] for wrapped in events.of(ModelWrapped)]


def test_what_is_frozen_before_is_left_out_and_what_is_frozen_afterwards_is_not() -> None:
    layers = nn.ModuleDict({"frozen": nn.Linear(2, 2), "first": nn.Linear(2, 2), "second": nn.Linear(2, 2, bias=False)})
    layers["frozen"].requires_grad_(False)
    with watching(WrappedModels, Ledger) as events:
        model = DistributedDataParallel(layers)
        layers["first"].requires_grad_(False)
        model.module["second"](torch.ones(1, 2)).sum().backward()
    assert reduced(events) == [["layers.first.weight", "layers.first.bias", "layers.second.weight"]]


def test_a_layer_at_two_places_counts_once() -> None:
    layer = nn.Linear(2, 2, bias=False)
    with watching(WrappedModels, Ledger) as events:
        model = DistributedDataParallel(nn.Sequential(layer, layer), find_unused_parameters=True)
        model(torch.ones(1, 2)).sum().backward()
    assert [len(each) for each in reduced(events)] == [1]
    assert [each.finds_unused for each in events.of(ModelWrapped)] == [True]
