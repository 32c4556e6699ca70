"""Memory from step to step, ever more rarely."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from autograd_doctor.events.steps import MemoryMeasured
from autograd_doctor.instruments.spine import memory
from autograd_doctor.instruments.spine.memory import Memory
from autograd_doctor.reading.memory import resident_bytes
from tests.watching import Recorded, watching


def train(steps: int, kept_values: int = 1) -> Recorded:
    weight, kept = nn.Parameter(torch.ones(1)), []
    with watching(Memory) as events:
        optimizer = torch.optim.SGD([weight], lr=0.01)
        for _ in range(steps):
            kept.append(torch.ones(kept_values))
            optimizer.zero_grad()
            weight.sum().backward()
            optimizer.step()
    assert not events.failures
    return events


def test_what_a_program_keeps_is_seen_to_grow() -> None:
    """By far more than a process may have left of what it has freed before."""
    measured = train(40, 2**21).of(MemoryMeasured)
    assert [event.step for event in measured] == [*range(1, 9), *range(16, 41, 8)]
    assert measured[-1].resident - measured[0].resident > 150 * 2**20


def test_there_are_as_many_looks_in_a_stretch_that_is_twice_as_long() -> None:
    steps = [event.step for event in train(300).of(MemoryMeasured)]
    assert len([step for step in steps if 64 <= step < 128]) == 8
    assert len([step for step in steps if 128 <= step < 256]) == 8


def test_a_system_that_tells_nothing_is_not_asked_for_more(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (resident_bytes() or 0) > 2**20
    monkeypatch.setattr(memory, "resident_bytes", lambda: None)
    assert not train(3).of(MemoryMeasured)
