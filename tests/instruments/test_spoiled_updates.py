"""Steps that spoil parameters, and gradients that the program spoils before them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.optim import LBFGS, SGD, Optimizer

from autograd_doctor.events.numerics import NonFiniteProduced
from autograd_doctor.instruments.numerics.spoiled_updates import SpoiledUpdates
from tests.watching import watching


def weight(value: float = 1.0) -> nn.Parameter:
    return nn.Parameter(torch.full((3,), value))


def produced(optimizer: Optimizer, change: Callable[[], None], *, closure: bool) -> list[NonFiniteProduced]:
    """One step on the squares of all parameters, whose gradients the program then changes."""
    parameters = optimizer.param_groups[0]["params"]

    def gradients() -> torch.Tensor:
        optimizer.zero_grad()
        loss = torch.stack([parameter.square().sum() for parameter in parameters]).sum()
        loss.backward()
        change()
        return loss

    with watching(SpoiledUpdates) as run:
        if closure:
            optimizer.step(gradients)
        else:
            gradients()
            optimizer.step()
        return run.of(NonFiniteProduced)


def nothing() -> None:
    pass


@pytest.mark.parametrize("closure", [False, True])
def test_a_step_that_spoils_parameters_is_told(closure: bool) -> None:
    (event,) = produced(SGD([weight(), weight()], lr=float("inf")), nothing, closure=closure)
    assert (event.operation, event.reached, event.rows) == ("SGD.step", "parameter", [0, 1, 2])
    assert [operand.low for operand in event.operands] == [2.0]
    assert event.location is not None
    assert event.location.path == __file__


@pytest.mark.parametrize("closure", [False, True])
def test_a_step_that_does_not_is_silent(closure: bool) -> None:
    assert produced(SGD([weight()], lr=0.1), nothing, closure=closure) == []


def test_what_an_optimizer_spoils_between_closures_is_told_once() -> None:
    (event,) = produced(LBFGS([weight()], lr=float("inf"), max_iter=4), nothing, closure=True)
    assert (event.operation, event.reached) == ("LBFGS.step", "parameter")


@pytest.mark.parametrize("closure", [False, True])
def test_a_gradient_that_the_program_spoils_is_told(closure: bool) -> None:
    spoiling = weight()

    def divide() -> None:
        assert spoiling.grad is not None
        spoiling.grad /= torch.zeros(3)

    (event,) = produced(SGD([spoiling], lr=0.1), divide, closure=closure)
    assert (event.operation, event.reached) == ("div_", "gradient")


@pytest.mark.parametrize("closure", [False, True])
def test_parameters_that_were_spoiled_before_are_none_of_its_business(closure: bool) -> None:
    assert produced(SGD([weight(float("inf"))], lr=0.1), nothing, closure=closure) == []


def test_what_changes_gradients_of_a_loss_that_was_not_finite_has_not_spoiled_them() -> None:
    parameter = weight()
    optimizer = SGD([parameter], lr=0.1)
    with watching(SpoiledUpdates) as run:
        (parameter * torch.nan).sum().backward()
        assert parameter.grad is not None
        parameter.grad.clamp_(-1, 1)
        optimizer.step()
        assert [event.operation for event in run.of(NonFiniteProduced)] == ["mul"]
