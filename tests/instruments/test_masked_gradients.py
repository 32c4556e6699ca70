"""Parts of gradients that the program sets to 0, and what the step does to the values there."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.optim import SGD, Adam, AdamW

from autograd_doctor.events.connectivity import MaskedValuesMoved
from autograd_doctor.instruments.connectivity.masked_gradients import MaskedGradients
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.signals.clipping import ClipCall
from tests.inventing import Invented, inventing

Change = Callable[[nn.Parameter], object]
FACTORS = torch.tensor([1.0, 2.0, 3.0, 4.0])
MASK = torch.tensor([1.0, 1.0, 0.0, 0.0])


def nothing(weight: nn.Parameter) -> None:
    pass


def masked(weight: nn.Parameter) -> None:
    assert weight.grad is not None
    weight.grad.data.mul_(MASK)


def train(
    run: Invented, optimizer: SGD, mask: Change = masked, after: Change = nothing, steps: int = 4, closure: bool = False
) -> None:
    weight = optimizer.param_groups[0]["params"][0]
    for _ in range(steps):
        optimizer.zero_grad()
        loss = (weight * FACTORS).sum()
        run.ran_backward(loss)
        mask(weight)
        with run.step(optimizer, closure=closure):
            optimizer.step()
        after(weight)


def decaying() -> SGD:
    return SGD([nn.Parameter(torch.ones(4))], lr=0.1, weight_decay=0.1)


def told(mask: Change = masked, after: Change = nothing, steps: int = 4, **fields: bool) -> list[MaskedValuesMoved]:
    with inventing(MaskedGradients) as run:
        train(run, decaying(), mask, after, steps, **fields)
        return list(run.of(MaskedValuesMoved))


def test_what_a_step_moves_although_its_gradient_is_masked() -> None:
    first, second = told()
    assert (first.step, second.step, first.optimizer) == (1, 2, 0)
    assert list(first.masked.values()) == list(first.moved.values()) == [2]
    assert first.lifted == second.lifted == []


@pytest.mark.parametrize(
    ("optimizer", "is_decay"),
    [
        (lambda weights: SGD(weights, lr=0.1, weight_decay=0.1), True),
        (lambda weights: AdamW(weights, lr=1e-3, weight_decay=1e-3), True),
        (lambda weights: Adam(weights, lr=0.1, weight_decay=0.1), False),
    ],
)
def test_whether_decay_alone_moves_values(optimizer: Callable[[list[nn.Parameter]], SGD], is_decay: bool) -> None:
    with inventing(MaskedGradients) as run:
        train(run, optimizer([nn.Parameter(torch.tensor([1.0, 2.0, -3.0, 0.5]))]))
        events = run.of(MaskedValuesMoved)
    assert [bool(event.decayed) for event in events] == [is_decay] * 2


def replaced(weight: nn.Parameter) -> None:
    assert weight.grad is not None
    weight.grad = torch.where(MASK > 0, weight.grad, 0.0)


def cut(weight: nn.Parameter) -> None:
    assert weight.grad is not None
    weight.grad[2:] = 0


@pytest.mark.parametrize("mask", [replaced, cut])
def test_ways_to_mask(mask: Change) -> None:
    assert [sum(event.moved.values()) for event in told(mask)] == [2, 2]


def test_a_hook_that_masks() -> None:
    with inventing(MaskedGradients) as run:
        optimizer = decaying()
        optimizer.param_groups[0]["params"][0].register_hook(lambda gradient: 0.5 * gradient * MASK)
        train(run, optimizer, nothing)
        assert [sum(event.moved.values()) for event in run.of(MaskedValuesMoved)] == [2, 2]


def test_values_that_are_put_back_before_the_next_backward() -> None:
    def put_back(weight: nn.Parameter) -> None:
        weight.data[2:] = 1.0

    assert [sum(event.moved.values()) for event in told(after=put_back)] == [0, 0]


def test_values_that_the_step_leaves_alone() -> None:
    with inventing(MaskedGradients) as run:
        train(run, SGD([nn.Parameter(torch.ones(4))], lr=0.1))
        assert [sum(event.moved.values()) for event in run.of(MaskedValuesMoved)] == [0, 0]


def halved(weight: nn.Parameter) -> None:
    assert weight.grad is not None
    weight.grad.mul_(0.5)


def cleared(weight: nn.Parameter) -> None:
    assert weight.grad is not None
    weight.grad.zero_()


def spoiled(weight: nn.Parameter) -> None:
    assert weight.grad is not None
    weight.grad[2:] *= torch.inf
    weight.grad.nan_to_num_(posinf=3.0)


@pytest.mark.parametrize("mask", [nothing, halved, cleared, spoiled])
def test_what_is_no_mask(mask: Change) -> None:
    assert told(mask) == []


def test_what_clipping_makes_zero_is_no_mask_and_what_was_masked_before_it_is() -> None:
    def clipped(weight: nn.Parameter, factor: torch.Tensor) -> None:
        call = ClipCall("clip_grad_norm_", [weight], (), {})
        run.signals.clipping.began.send(call)
        assert weight.grad is not None
        weight.grad.mul_(factor)
        run.signals.clipping.ended.send(call)

    def masked_and_clipped(weight: nn.Parameter) -> None:
        masked(weight)
        clipped(weight, torch.full((4,), 0.5))

    with inventing(MaskedGradients) as run:
        train(run, decaying(), lambda weight: clipped(weight, MASK))
        assert run.of(MaskedValuesMoved) == []
        train(run, decaying(), masked_and_clipped)
        assert len(run.of(MaskedValuesMoved)) == 2


def test_masks_that_let_pass_what_they_held_back() -> None:
    turn = iter([MASK, MASK, 1 - MASK, MASK])

    def alternating(weight: nn.Parameter) -> None:
        assert weight.grad is not None
        weight.grad.mul_(next(turn))

    first, second = told(alternating)
    assert first.lifted == []
    assert second.lifted == list(second.masked)


def test_a_step_with_a_closure_and_one_that_nobody_saw_begin() -> None:
    assert told(closure=True) == []
    with inventing(MaskedGradients) as run:
        detail = run.find(Detail)
        train(run, decaying(), lambda weight: (masked(weight), detail.turned.tell(detail)))
        assert run.of(MaskedValuesMoved) == []
