"""Gradients of light steps, as long as the run is young."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from torch import nn

from autograd_doctor.events.steps import GradientNormsMeasured, OptimizerStepped
from autograd_doctor.instruments.spine.gradient_norms import GradientNorms
from autograd_doctor.instruments.spine.optimizer_steps import OptimizerSteps
from tests.watching import Recorded, watching


def train(steps: int, *, closure: bool = False) -> Recorded:
    """A weight of two numbers whose gradient is (3, 4), times the number of the step."""
    weight = nn.Parameter(torch.tensor([1.0, 1.0]))
    with watching(GradientNorms, OptimizerSteps) as events:
        optimizer = torch.optim.SGD([weight], lr=0.01)
        for step in range(1, steps + 1):

            def loss(factor: float = float(step)) -> torch.Tensor:
                optimizer.zero_grad()
                value = (weight * torch.tensor([3.0, 4.0])).sum() * factor
                value.backward()
                return value

            if closure:
                optimizer.step(loss)
            else:
                loss()
                optimizer.step()
    assert not events.failures
    return events


@pytest.mark.parametrize("closure", [False, True])
def test_of_the_first_steps_one_in_eight_is_measured_unless_it_is_recorded(closure: bool) -> None:
    """Once steps are glanced at, one in the next pair that is looked at."""
    events = train(64, closure=closure)
    light = {event.step: event.norms for event in events.of(GradientNormsMeasured)}
    full = {event.step: event.uses[0].norms for event in events.of(OptimizerStepped)}
    assert light.keys().isdisjoint(full)
    measured = {**full, **light}
    assert len(light) >= 3
    assert all(later - earlier <= 16 for earlier, later in pairwise(sorted(measured)))
    assert {step: norms[0] for step, norms in measured.items()} == {
        step: pytest.approx(5.0 * (step + 1)) for step in measured
    }


def test_of_later_ones_there_are_ever_fewer() -> None:
    events = train(300)
    steps = sorted(event.step + 1 for event in (*events.of(GradientNormsMeasured), *events.of(OptimizerStepped)))
    assert all(later - earlier <= 16 for earlier, later in pairwise([step for step in steps if step <= 128]))
    assert steps[-1] >= 280
    light = [event.step + 1 for event in events.of(GradientNormsMeasured)]
    assert len([step for step in light if 64 < step <= 128]) <= 8
    assert len([step for step in light if 128 < step <= 256]) <= 8
