"""The rates with which ranks step: told when they change, by the steps of a model's own, where a scheduler set them."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.optim.lr_scheduler import LambdaLR, StepLR

from autograd_doctor.events.replicas import RatesSet
from autograd_doctor.instruments.ranks.rates_of_ranks import RatesOfRanks
from tests.watching import Recorded, one_of_two, watching


def trained(steps: int, schedule: type[StepLR] | None = None) -> Recorded:
    model = nn.Linear(4, 1)
    with watching(RatesOfRanks) as seen:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
        scheduler = None if schedule is None else schedule(optimizer, step_size=2)
        for _ in range(steps):
            optimizer.zero_grad()
            model(torch.ones(2, 4)).sum().backward()
            optimizer.step()
            if scheduler is not None:
                scheduler.step()
    return seen


def changes(seen: Recorded) -> list[tuple[int, list[float | None]]]:
    return [(event.taken, event.rates) for event in seen.of(RatesSet)]


def test_a_program_alone_is_not_asked() -> None:
    assert changes(trained(3)) == []


def test_a_rate_is_told_once_and_again_when_it_changes() -> None:
    with one_of_two():
        assert changes(trained(3)) == [(0, [0.5])]
        assert changes(trained(5, StepLR)) == [(0, [0.5]), (2, [0.05]), (4, [pytest.approx(0.005)])]


def test_it_is_told_at_the_line_of_the_scheduler() -> None:
    with one_of_two():
        first, second = trained(3, StepLR).of(RatesSet)
    assert first.location is not None
    assert second.location is not None
    assert second.location.line > first.location.line


def test_a_rate_for_each_step_fills_no_trace() -> None:
    model = nn.Linear(4, 1)
    with one_of_two(), watching(RatesOfRanks) as seen:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
        scheduler = LambdaLR(optimizer, lambda step: 1 / (1 + step))
        for _ in range(100):
            model(torch.ones(2, 4)).sum().backward()
            optimizer.step()
            scheduler.step()
    assert len(changes(seen)) == 64
