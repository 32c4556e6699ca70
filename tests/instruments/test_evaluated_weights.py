"""Weights that are written before an evaluation: told where training goes on from them."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.optim import SGD

from autograd_doctor.events.cycle import EvaluatedWeightsKept
from autograd_doctor.instruments.cycle.evaluated_weights import EvaluatedWeights
from tests.watching import watching

X = torch.rand(4, 3)


def told(
    *, written: bool = True, restored: bool = False, other: bool = False, every: int = 2, decayed: bool = False
) -> list[EvaluatedWeightsKept]:
    """What is stated of a model that is evaluated five times, every so many steps, and written to before."""
    model, average = nn.Linear(3, 2), nn.Linear(3, 2)
    with watching(EvaluatedWeights) as recorded:
        optimizer = SGD(model.parameters(), lr=0.1)
        for step in range(1, 5 * every + 1):
            model(X).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
            if decayed:
                with torch.no_grad():
                    for parameter in model.parameters():
                        parameter.mul_(0.99)
            if step % every:
                continue
            before = [parameter.detach().clone() for parameter in model.parameters()]
            with torch.no_grad():
                for kept, parameter in zip(average.parameters(), model.parameters(), strict=True):
                    kept.lerp_(parameter, 0.5)
                    if written:
                        parameter.copy_(kept)
                for _ in range(2):
                    (average if other else model)(X)
                for old, parameter in zip(before, model.parameters(), strict=True):
                    if restored:
                        parameter.copy_(old)
    assert not recorded.failures
    return recorded.of(EvaluatedWeightsKept)


def test_training_that_goes_on_from_what_was_evaluated() -> None:
    (event,) = told()
    assert (event.times, event.evaluations) == (3, 4), (
        "the first evaluation makes the model known, none follows the last"
    )
    assert len(event.parameters) == 2
    assert event.location is not None


@pytest.mark.parametrize(
    "more", [{"written": False}, {"restored": True}, {"other": True}], ids=["as left", "back", "copy"]
)
def test_evaluations_that_leave_the_weights_alone(more: dict[str, bool]) -> None:
    assert told(**more) == []
