"""Collectives that a program calls: stated before they are made, once for each line in a step."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

from autograd_doctor.events.replicas import CollectiveCalled
from autograd_doctor.instruments.ranks.collective_calls import CollectiveCalls
from autograd_doctor.instruments.spine.optimizer_steps import OptimizerSteps
from tests.watching import Recorded, watching


@pytest.fixture(autouse=True)
def group(tmp_path: Path) -> Iterator[None]:
    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/meeting", rank=0, world_size=1)
    yield
    dist.destroy_process_group()


def called(events: Recorded) -> list[tuple[str, int]]:
    return [(each.collective, each.step) for each in events.of(CollectiveCalled)]


def test_each_line_counts_once_in_a_step() -> None:
    weight = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.1)
    with watching(CollectiveCalls, OptimizerSteps) as events:
        for _ in range(2):
            weight.sum().backward()
            for _ in range(3):
                dist.all_reduce(weight.grad)
            optimizer.step()
        dist.barrier()
    assert called(events) == [("all_reduce", 0), ("all_reduce", 1), ("barrier", 2)]


def test_what_a_collective_calls_itself_is_no_call_of_the_program() -> None:
    with watching(CollectiveCalls) as events:
        dist.broadcast_object_list(["a word"], src=0)
    assert called(events) == [("broadcast_object_list", 0)]


def test_a_call_that_fails_was_made() -> None:
    with watching(CollectiveCalls) as events, pytest.raises(TypeError):
        dist.all_reduce()
    assert called(events) == [("all_reduce", 0)]


def test_a_group_of_some_is_no_matter_of_all() -> None:
    some = dist.new_group([0])
    with watching(CollectiveCalls) as events:
        dist.all_reduce(torch.ones(2), group=some)
        dist.all_reduce(torch.ones(2), group=dist.group.WORLD)
    assert called(events) == [("all_reduce", 0)]
