"""Evaluations that leave a model another one: told where they do so themselves, and training goes on."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.optim import SGD

from autograd_doctor.events.cycle import EvaluationChangedModel
from autograd_doctor.instruments.cycle.switched_models import SwitchedModels
from tests.watching import watching

X = torch.rand(4, 3, generator=torch.Generator().manual_seed(0))


class Merging(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.base = nn.Linear(3, 2).requires_grad_(False)
        self.delta = nn.Parameter(torch.zeros(2, 3))
        self.merged = False

    def train(self, mode: bool = True) -> Any:
        if not mode and not self.merged:
            self.base.weight.data += self.delta.data
        self.merged = not mode
        return super().train(mode)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.base(x)
        return out if self.merged else out + x @ self.delta.T


def told(
    *,
    evaluated: bool = True,
    restored: bool = False,
    anew: bool = False,
    beside: bool = False,
    rate: float = 0.1,
    goes_on: bool = True,
) -> list[EvaluationChangedModel]:
    """What is stated of a model that is evaluated after each five of twenty steps."""
    torch.manual_seed(0)
    model, other = Merging(), nn.Linear(3, 2)
    with watching(SwitchedModels) as recorded:
        optimizer = SGD([model.delta], lr=rate)
        another = SGD(other.parameters(), lr=0.1)
        for step in range(1, 21):
            (model(X) - 1).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
            if beside:
                other(X).square().mean().backward()
                another.step()
            if step % 5 or not evaluated or (step < 20 and not goes_on):
                continue
            kept = model.base.weight.detach().clone()
            model.eval()
            with torch.no_grad():
                model(X)
            model.train()
            if restored:
                model.base.weight.data.copy_(kept)
            if anew:
                optimizer = SGD([model.delta], lr=rate)
        del model, optimizer
    assert not recorded.failures
    return recorded.of(EvaluationChangedModel)


@pytest.mark.parametrize("beside", [False, True], ids=["alone", "beside another that steps"])
def test_evaluations_that_merge(beside: bool) -> None:
    (event,) = told(beside=beside)
    assert (event.times, event.returns) == (3, 3), "no step follows the last of four"
    assert event.tensors == ["base.weight"]
    assert (event.alike, event.again, event.trained) == (True, True, False)
    assert event.change > 0.01
    assert event.evaluated_at is not None


def test_what_is_too_small_at_first_is_tried_again() -> None:
    (event,) = told(rate=8e-5)
    assert event.times < 3


@pytest.mark.parametrize(
    "more",
    [{"evaluated": False}, {"restored": True}, {"anew": True}, {"goes_on": False}],
    ids=["never", "put back by the loop", "a new stage", "at the end"],
)
def test_models_that_training_does_not_go_on_from(more: dict[str, bool]) -> None:
    assert told(**more) == []
