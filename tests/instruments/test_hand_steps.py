"""Steps by hand, with an optimizer in sight or none, while operations are at rest."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch.optim import SGD

from autograd_doctor.events.run import LightStepsCounted
from autograd_doctor.events.steps import OptimizerStepped
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.instruments.spine.hand_steps import HandSteps
from autograd_doctor.instruments.spine.light_steps import LightSteps
from autograd_doctor.instruments.spine.lineage import Lineage
from autograd_doctor.instruments.spine.rebinding import Rebinding
from tests.watching import watching

Weights = list[torch.Tensor]
ROUNDS = 80


def begun() -> Weights:
    return [torch.zeros(1, requires_grad=True), torch.zeros(1, requires_grad=True)]


def loss_of(weights: Weights) -> torch.Tensor:
    slope, offset = weights
    x = torch.linspace(-1.0, 1.0, 16)
    return ((x * slope + offset - 3.0 * x) ** 2).mean()


def in_place(weights: Weights, round_number: int) -> bool:
    loss_of(weights).backward()
    with torch.no_grad():
        for weight in weights:
            assert weight.grad is not None
            weight -= 0.01 * weight.grad
            weight.grad.zero_()
    return True


def by_data(weights: Weights, round_number: int) -> bool:
    loss_of(weights).backward()
    for weight in weights:
        assert weight.grad is not None
        weight.data -= 0.01 * weight.grad.data
        weight.grad = None
    return True


def asked_for(weights: Weights, round_number: int) -> bool:
    gradients = torch.autograd.grad(loss_of(weights), weights)
    with torch.no_grad():
        for weight, gradient in zip(weights, gradients, strict=True):
            weight.sub_(gradient, alpha=0.01)
    return True


def accumulated(weights: Weights, round_number: int) -> bool:
    loss_of(weights).backward()
    if round_number % 4 != 3:
        return False
    with torch.no_grad():
        for weight in weights:
            assert weight.grad is not None
            weight -= 0.01 * weight.grad
            weight.grad = None
    return True


@pytest.mark.parametrize("update", [in_place, by_data, asked_for, accumulated])
def test_each_update_is_a_step_recorded_or_light(update: Callable[[Weights, int], bool]) -> None:
    weights = begun()
    with watching(Lineage, LightSteps) as run:
        updates = sum([update(weights, round_number) for round_number in range(ROUNDS)])
        loss_of(weights).backward()
        assert run.find(Course).steps == updates
        counted = run.find(HandSteps).counted
    light = sum(event.by_hand for event in run.of(LightStepsCounted))
    assert light == counted > 0
    assert light + len(run.of(OptimizerStepped)) == updates
    assert all(len(event.moved or ()) == 2 for event in run.of(OptimizerStepped))


def test_rounds_that_change_nothing_are_no_steps() -> None:
    weights = begun()
    with watching(Lineage, LightSteps) as run:
        for round_number in range(60):
            in_place(weights, round_number)
        for _ in range(30):
            loss_of(weights).backward()
        assert run.find(Course).steps == 60


def test_new_leaves_in_the_place_of_old_ones_leave_all_steps_full() -> None:
    def rebound(weights: Weights, round_number: int) -> bool:
        gradients = torch.autograd.grad(loss_of(weights), weights)
        weights[:] = [(w - 0.01 * g).detach().requires_grad_() for w, g in zip(weights, gradients, strict=True)]
        return True

    weights = begun()
    with watching(Lineage, LightSteps, Rebinding) as run:
        for round_number in range(ROUNDS):
            rebound(weights, round_number)
            assert run.find(Detail).full


def test_steps_of_an_optimizer_on_what_was_updated_by_hand_before_count_once() -> None:
    weights = begun()
    with watching(Lineage, LightSteps) as run:
        for round_number in range(40):
            in_place(weights, round_number)
        optimizer = SGD(weights, lr=0.01)
        for _ in range(60):
            optimizer.zero_grad()
            loss_of(weights).backward()
            optimizer.step()
        assert run.find(Course).steps == 100
