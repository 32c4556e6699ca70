"""The clipping of gradients by hand: which products of theirs are told as one."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
import torch
from torch import nn
from torch.optim import SGD

from autograd_doctor.events.cycle import GradientsClipped
from autograd_doctor.instruments.cycle.hand_clipping import HandClipping
from autograd_doctor.instruments.spine.ledger import Ledger
from autograd_doctor.instruments.spine.optimizers import Optimizers
from autograd_doctor.signals.clipping import ClipCall
from tests.inventing import Invented, inventing


def weights(count: int = 2) -> SGD:
    return SGD([nn.Parameter(torch.ones(4)) for _ in range(count)])


def held(optimizer: SGD) -> list[nn.Parameter]:
    return optimizer.param_groups[0]["params"]


def scale(run: Invented, name: str, gradients: Iterable[torch.Tensor], factor: float | torch.Tensor) -> None:
    for gradient in gradients:
        getattr(gradient, name)(factor)
        run.operated(name, gradient, gradient, factor)


def backward(run: Invented, optimizer: SGD, value: float) -> list[torch.Tensor]:
    """It gives each the norm `2 * value`."""
    run.find(Optimizers).number(optimizer)
    with run.clearing(optimizer):
        optimizer.zero_grad()
    with run.backward(torch.ones(())):
        for each in held(optimizer):
            run.number(each)
            each.grad = torch.full_like(each, value).detach()
    return [each.grad for each in held(optimizer) if each.grad is not None]


def update(run: Invented, optimizer: SGD, value: float, name: str, factor: float | torch.Tensor) -> None:
    """All gradients are scaled at one line, and used."""
    scale(run, name, backward(run, optimizer, value), factor)
    with run.step(optimizer):
        pass


def test_a_line_that_leads_to_the_same_norm_is_told_from_the_third_time_on():
    optimizer = weights()
    with inventing(HandClipping) as run:
        for value in (1.0, 2.0, 4.0, 8.0):
            update(run, optimizer, value, "mul_", 0.5 / value)
        third, fourth = run.of(GradientsClipped)
        assert (third.parameters, third.fresh) == ([0, 1], [0, 1])
        assert third.norm == pytest.approx(8 * 2**0.5)
        assert fourth.norm == pytest.approx(16 * 2**0.5)
        assert third.limit == fourth.limit == pytest.approx(2**0.5)
        assert (third.kind, third.loss_scale, third.missing) == ("norm", 1.0, [])
        assert third.location is not None
        assert third.callers[-1].function == "scale"


@pytest.mark.parametrize("name", ["mul_", "div_", "__imul__", "__itruediv__"])
def test_however_it_is_spelt(name):
    optimizer = weights(1)
    with inventing(HandClipping) as run:
        for value in (1.0, 2.0, 4.0, 8.0):
            factor = torch.tensor(2 * value if "mul" not in name else 0.5 / value)
            update(run, optimizer, value, name, factor)
        assert [event.norm for event in run.of(GradientsClipped)] == pytest.approx([8.0, 16.0])


def test_what_is_within_the_limit_is_told_too():
    optimizer = weights(1)
    with inventing(HandClipping) as run:
        for value, factor in ((1.0, 0.5), (2.0, 0.25), (4.0, 0.125), (0.1, 1.0)):
            update(run, optimizer, value, "mul_", factor)
        *_, event = run.of(GradientsClipped)
        assert (event.limit, event.norm) == pytest.approx((1.0, 0.2))


@pytest.mark.parametrize(
    "pairs",
    [
        [(value, 0.25) for value in (1.0, 1.0, 1.0, 1.0, 1.0)],  # one number, as of averages
        [(value, 0.25) for value in (1.0, 2.0, 3.0, 4.0, 5.0)],
        [(1.0, 0.5), (2.0, 0.3), (4.0, 0.1), (8.0, 0.05)],  # other norms
        [(1.0, 2.0), (0.5, 4.0), (0.25, 8.0), (0.125, 16.0)],  # larger ones
        [(1.0, 0.5), (2.0, 0.25)],
    ],
)
def test_other_products_clip_nothing(pairs):
    optimizer = weights()
    with inventing(HandClipping) as run:
        for value, factor in pairs:
            update(run, optimizer, value, "mul_", factor)
        assert run.of(GradientsClipped) == []


@pytest.mark.parametrize("cleared", [False, True])
def test_what_is_cleared_before_anybody_finds_it_was_scaled_for_something_else(cleared):
    optimizer = weights()
    with inventing(HandClipping) as run:
        for value in (1.0, 2.0, 4.0):
            scale(run, "mul_", backward(run, optimizer, value), 0.5 / value)
            if cleared:
                for each in held(optimizer):
                    each.grad = None
            with run.backward(torch.ones(())):
                pass
        assert len(run.of(GradientsClipped)) == (not cleared)


def test_what_no_optimizer_holds_is_scaled_for_something_else():
    leaf = nn.Parameter(torch.ones(4))
    with inventing(HandClipping) as run:
        run.number(leaf)
        for value in (1.0, 2.0, 4.0, 8.0):
            with run.backward(torch.ones(())):
                leaf.grad = torch.full((4,), value)
            scale(run, "mul_", [leaf.grad], 0.5 / value)
        assert run.of(GradientsClipped) == []


def test_what_the_functions_of_torch_do_is_not_told_again():
    optimizer = weights()
    with inventing(HandClipping) as run:
        for value in (1.0, 2.0, 4.0, 8.0):
            call = ClipCall("clip_grad_norm_", held(optimizer), (1.0,), {})
            run.signals.clipping.began.send(call)
            update(run, optimizer, value, "mul_", 0.5 / value)
            call.result = torch.tensor(1.0)
            run.signals.clipping.ended.send(call)
        assert all(event.location is None or event.location.function != "scale" for event in run.of(GradientsClipped))


def test_other_tensors_are_no_gradients():
    with inventing(HandClipping) as run:
        for value in (1.0, 2.0, 4.0, 8.0):
            scale(run, "mul_", [torch.full((4,), value)], 0.5 / value)
        assert run.of(GradientsClipped) == []


@pytest.mark.parametrize("between", [False, True])
def test_a_gradient_that_was_only_clipped_is_not_reworked(between):
    optimizer = weights(1)
    (weight,) = held(optimizer)
    with inventing(HandClipping) as run:
        ledger = run.find(Ledger)
        for value in (1.0, 2.0, 4.0):
            update(run, optimizer, value, "mul_", 0.5 / value)
        (gradient,) = backward(run, optimizer, 8.0)
        if between:
            gradient.add_(1.0)
        scale(run, "mul_", [gradient], 1 / 16)
        ledger.catch_up()
        (coming,) = ledger.uses_to_come([(0, weight)]).held
        assert coming.history.reworked == between
