"""How far a step moves its parameters, next to how large they are."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.optim import SGD

from autograd_doctor.events.numerics import UpdatesMeasured
from autograd_doctor.instruments.numerics.update_sizes import UpdateSizes
from autograd_doctor.signals.attention import Attention
from tests.inventing import Invented, inventing


def parameter(*values: float, gradient: tuple[float, ...] | None = None) -> nn.Parameter:
    made = nn.Parameter(torch.tensor(values))
    made.grad = torch.tensor(gradient) if gradient else None
    return made


def stepped(run: Invented, optimizer: SGD, *, closure: bool = False) -> None:
    with run.step(optimizer, closure=closure):
        optimizer.step()


def test_updates_and_weights_are_root_mean_squares() -> None:
    large, small = parameter(3.0, 4.0, gradient=(1.0, 7.0)), parameter(0.5, gradient=(2.0,))
    with inventing(UpdateSizes) as run:
        stepped(run, SGD([large, small], lr=0.1))
        (event,) = run.of(UpdatesMeasured)
        assert event.parameters == [run.number(large), run.number(small)]
        assert event.weights == pytest.approx([12.5**0.5, 0.5])
        assert event.updates == pytest.approx([0.5, 0.2])
        assert (event.step, event.optimizer) == (0, 0)


def test_what_the_step_cannot_move_is_left_out() -> None:
    frozen, without = parameter(1.0, gradient=(1.0,)), parameter(1.0)
    frozen.requires_grad_(False)
    moved = parameter(1.0, gradient=(1.0,))
    with inventing(UpdateSizes) as run:
        stepped(run, SGD([frozen, without, moved], lr=0.1))
        (event,) = run.of(UpdatesMeasured)
        assert event.parameters == [run.number(moved)]


def test_a_closure_may_give_gradients_to_those_that_have_none() -> None:
    late = parameter(2.0)
    optimizer = SGD([late], lr=0.1)
    with inventing(UpdateSizes) as run:
        with run.step(optimizer, closure=True):
            late.grad = torch.ones(1)
            optimizer.step()
        (event,) = run.of(UpdatesMeasured)
        assert event.updates == pytest.approx([0.1])


def test_a_step_without_gradients_moves_nothing() -> None:
    with inventing(UpdateSizes) as run:
        stepped(run, SGD([parameter(1.0)], lr=0.1))
        assert run.of(UpdatesMeasured) == []


def test_a_step_that_a_scaler_suppressed_says_nothing() -> None:
    optimizer = SGD([parameter(1.0, gradient=(1.0,))], lr=0.1)
    with inventing(UpdateSizes) as run:
        optimizer.found_inf = torch.ones(1)  # type: ignore[attr-defined]
        with run.step(optimizer):
            pass
        assert run.of(UpdatesMeasured) == []


def test_light_steps_are_not_measured() -> None:
    optimizer = SGD([parameter(1.0, gradient=(1.0,))], lr=0.1)
    with inventing(UpdateSizes) as run:
        run.attend(Attention.LIGHT)
        stepped(run, optimizer)
        assert run.of(UpdatesMeasured) == []


def test_copies_of_a_step_that_raised_are_not_those_of_the_next() -> None:
    weight = parameter(1.0, gradient=(1.0,))
    optimizer = SGD([weight], lr=0.1)
    with inventing(UpdateSizes) as run:
        with pytest.raises(KeyError), run.step(optimizer):
            raise KeyError
        weight.data.fill_(5.0)
        run.attend(Attention.LIGHT)
        stepped(run, optimizer)
        assert run.of(UpdatesMeasured) == []
        run.attend(Attention.FULL)
        stepped(run, optimizer)
        (event,) = run.of(UpdatesMeasured)
        assert (event.weights, event.updates) == (pytest.approx([4.9]), pytest.approx([0.1]))


def test_optimizers_are_told_apart() -> None:
    optimizers = [SGD([parameter(1.0, gradient=(1.0,))], lr=rate) for rate in (0.1, 0.2)]
    with inventing(UpdateSizes) as run:
        for optimizer in optimizers:
            stepped(run, optimizer)
        assert [(each.optimizer, round(each.updates[0], 3)) for each in run.of(UpdatesMeasured)] == [(0, 0.1), (1, 0.2)]


def test_values_of_16_bits_that_a_step_leaves_as_they_are() -> None:
    low = nn.Parameter(torch.tensor([1.0, 1.0, 0.001, 5.0], dtype=torch.bfloat16))
    high, idle = nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2, dtype=torch.bfloat16))
    low.grad = torch.tensor([1.0, 100.0, 1.0, 0.0], dtype=torch.bfloat16)
    high.grad, idle.grad = torch.ones(2), torch.zeros(2, dtype=torch.bfloat16)
    with inventing(UpdateSizes) as run:
        stepped(run, SGD([low, high, idle], lr=1e-3))
        (event,) = run.of(UpdatesMeasured)
    assert list(event.still.values()) == [pytest.approx(1 / 3)]
    assert list(event.still) == event.parameters[:1]


def test_values_of_16_bits_that_have_moved_since_the_first_step() -> None:
    weight = nn.Parameter(torch.ones(4, dtype=torch.bfloat16))
    weight.grad = torch.tensor([1.0, 1.0, 1.0, 0.0], dtype=torch.bfloat16)
    optimizer = SGD([weight], lr=0.0)
    with inventing(UpdateSizes) as run:
        for moved in ([0], [0], [1], []):
            with run.step(optimizer):
                weight.data[moved] += 1
        with run.step(optimizer):
            weight.data.fill_(1.0)
        weight.data, weight.grad = torch.ones(2, dtype=torch.bfloat16), torch.ones(2, dtype=torch.bfloat16)
        stepped(run, optimizer)
        arrived = [next(iter(event.arrived.values())) for event in run.of(UpdatesMeasured)]
    assert arrived == pytest.approx([1 / 3, 1 / 3, 2 / 3, 2 / 3, 2 / 3, 0])
