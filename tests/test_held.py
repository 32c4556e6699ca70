"""Objects that a custom function takes: what looks wrong beside one that moves with what is learned is left open."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from autograd_doctor.events.errors import FunctionJudged
from autograd_doctor.instruments.errors.functions import Functions
from autograd_doctor.reading.held import doubled, held, is_still
from tests.watching import watching


@dataclass
class Field:
    weights: torch.Tensor
    solves: int = 0
    kept: torch.Tensor | None = None

    def stored(self, u: torch.Tensor) -> torch.Tensor:
        if self.kept is None:
            self.kept = u.detach().clone()
        return self.weights * self.kept


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, k: torch.Tensor, u: torch.Tensor, field: Any) -> torch.Tensor:
        ctx.save_for_backward(u)
        ctx.field = field
        return (field.weights + k) * u

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:
        (u,) = ctx.saved_tensors
        return (grad * u).sum(0), None, None


class ForBoth(Scaled):
    """Right where the weights of its field are made of `k`, wrong where they are not."""

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:
        (u,) = ctx.saved_tensors
        return 2 * (grad * u).sum(0), None, None


class Stored(Scaled):
    @staticmethod
    def forward(ctx: Any, k: torch.Tensor, u: torch.Tensor, field: Any) -> torch.Tensor:
        ctx.save_for_backward(u)
        return k * field.stored(u)


def judged(function: Any, given: Callable[[torch.Tensor], Any], steps: int = 3) -> FunctionJudged:
    """What is said of a function in a training that gives it an object from `given` in each step."""
    torch.manual_seed(0)
    k = nn.Parameter(torch.rand(6))
    optimizer = torch.optim.SGD([k], lr=0.1)
    with watching(Functions) as seen:
        for _ in range(steps):
            loss = function.apply(k, torch.randn(8, 6), given(k)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    (said,) = seen.of(FunctionJudged)
    return said


def counting() -> Callable[[torch.Tensor], Field]:
    field = Field(torch.ones(6))

    def given(k: torch.Tensor) -> Field:
        field.solves += 1
        return field

    return given


@pytest.mark.parametrize("given", [lambda k: Field(torch.ones(6)), counting()], ids=["made anew", "counts"])
def test_a_wrong_gradient_is_wrong_beside_what_stays_as_it_is(given: Any) -> None:
    assert judged(ForBoth, given).verdict == "wrong"


@pytest.mark.parametrize(
    ("function", "given", "steps", "reason"),
    [
        (ForBoth, lambda k: Field(k.detach().clone()), 3, "`Field` held fixed, which changes from step to step"),
        (ForBoth, lambda k: Field(k.detach()), 3, "changes from step to step"),
        (ForBoth, lambda k: SimpleNamespace(weights=k.detach() * 1), 3, "changes from step"),
        (ForBoth, lambda k: Field(torch.ones(6)), 1, "was seen in only one step"),
    ],
)
def test_what_may_be_right_is_left_open(function: Any, given: Any, steps: int, reason: str) -> None:
    said = judged(function, given, steps)
    assert said.verdict == "not judged"
    assert reason in said.reason


@pytest.mark.parametrize("given", [lambda k: Field(torch.ones(6)), lambda k: Field(k.detach().clone())])
def test_a_right_gradient_is_right_beside_either(given: Any) -> None:
    assert judged(Scaled, given).verdict == "right"


def test_no_trial_meets_what_another_one_stored() -> None:
    assert judged(Stored, lambda k: Field(torch.ones(6))).verdict == "right"


def test_objects_stay_the_same_until_something_but_a_count_changes() -> None:
    value = {
        "grid": SimpleNamespace(points=np.array([0.0, np.nan]), pitch=float("nan"), names=["a"]),
        "mask": torch.tensor([1.0, float("inf")]),
        "graph": torch.eye(3).to_sparse(),
        "solves": 1,
    }
    value["itself"] = value
    copied = held(value)
    value["solves"] = 7
    assert is_still(copied, value)
    for name, changed in {"mask": torch.ones(2), "graph": 2 * torch.eye(3).to_sparse(), "grid": None}.items():
        assert not is_still(copied, {**value, name: changed})
    value["grid"].points[0] = 1
    assert not is_still(copied, value)


def test_copies_lie_in_one_piece_so_that_elements_can_be_moved() -> None:
    transposed = torch.arange(6.0).reshape(2, 3).T
    assert doubled(transposed).is_contiguous()
    assert torch.equal(doubled(transposed), transposed.double())
