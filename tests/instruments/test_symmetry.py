"""Weights whose rows begin equal, and stay so."""

from __future__ import annotations

import gc

import pytest
import torch
from torch import nn
from torch.optim import SGD

from autograd_doctor.events.numerics import UnitsAlike
from autograd_doctor.instruments.numerics.symmetry import Symmetry
from tests.inventing import Invented, inventing

ALIKE = torch.tensor([0.1, 0.2]).repeat(3, 1)


def train(run: Invented, gradient: torch.Tensor | None, weight: nn.Parameter, steps: int = 4, lr: float = 0.1) -> None:
    """Steps with this gradient, of an optimizer that stays the same."""
    optimizer = next((each for each in run.nodes if isinstance(each, SGD)), None) or SGD([weight], lr=lr)
    run.nodes.append(optimizer)
    for _ in range(steps):
        weight.grad = gradient.clone() if gradient is not None else None
        with run.step(optimizer):
            optimizer.step()


def test_units_that_are_still_equal_after_three_updates_are_told_once() -> None:
    weight = nn.Parameter(ALIKE.clone())
    with inventing(Symmetry) as run:
        train(run, torch.ones(3, 2), weight, steps=3)
        assert run.of(UnitsAlike) == []
        train(run, torch.ones(3, 2), weight, steps=6)
        (event,) = run.of(UnitsAlike)
        assert (event.parameter, event.units, event.updates) == (run.number(weight), 3, 3)
        assert event.filled_at is None


def test_the_line_that_filled_the_weight_is_told() -> None:
    weight = nn.Parameter(torch.randn(3, 2))
    with inventing(Symmetry) as run:
        run.number(weight)
        weight.data.copy_(ALIKE)
        run.operated("fill_", weight, weight, 0.1, grad_enabled=False)
        train(run, torch.ones(3, 2), weight)
        (event,) = run.of(UnitsAlike)
        assert event.filled_at is not None


def nearly(values: torch.Tensor, by: float, row: int = 1) -> torch.Tensor:
    changed = values.clone()
    changed[row, 1] *= 1 + by
    return changed


@pytest.mark.parametrize("row", [1, 2])
@pytest.mark.parametrize(("by", "told"), [(1e-5, 1), (1e-2, 0)])
def test_rows_are_equal_up_to_rounding(by: float, told: int, row: int) -> None:
    for values, gradient in ((nearly(ALIKE, by, row), ALIKE), (ALIKE.clone(), nearly(ALIKE, by, row))):
        with inventing(Symmetry) as run:
            train(run, gradient, nn.Parameter(values), lr=1e-9)
            assert len(run.of(UnitsAlike)) == told


def test_units_that_part_are_let_go_for_good() -> None:
    weight = nn.Parameter(ALIKE.clone())
    with inventing(Symmetry) as run:
        train(run, torch.ones(3, 2), weight, steps=2)
        train(run, torch.arange(6.0).view(3, 2), weight, steps=1)
        weight.data.copy_(ALIKE)
        train(run, torch.ones(3, 2), weight, steps=9)
        assert run.of(UnitsAlike) == []


@pytest.mark.parametrize("gradient", [None, torch.zeros(3, 2)])
def test_steps_without_a_gradient_do_not_count_and_do_no_harm(gradient: torch.Tensor | None) -> None:
    weight = nn.Parameter(ALIKE.clone())
    with inventing(Symmetry) as run:
        train(run, gradient, weight, steps=5)
        assert run.of(UnitsAlike) == []
        train(run, torch.ones(3, 2), weight)
        assert len(run.of(UnitsAlike)) == 1


@pytest.mark.parametrize("shape", [(4,), (1, 4), (4, 1)], ids=["vector", "one unit", "units of one entry"])
def test_what_is_no_layer_of_units_may_begin_constant(shape: tuple[int, ...]) -> None:
    weight = nn.Parameter(torch.ones(shape))
    with inventing(Symmetry) as run:
        train(run, torch.ones(shape), weight, steps=6)
        assert run.of(UnitsAlike) == []


def test_a_weight_that_is_gone_is_forgotten() -> None:
    weight = nn.Parameter(ALIKE.clone())
    other = nn.Parameter(torch.randn(3, 2))
    optimizer = SGD([weight, other], lr=0.1)
    with inventing(Symmetry) as run:
        for turn in range(8):
            if turn == 2:
                optimizer.param_groups[0]["params"] = [other]
                del weight
                gc.collect()
            else:
                optimizer.param_groups[0]["params"][0].grad = torch.ones(3, 2)
            with run.step(optimizer):
                pass
        assert run.of(UnitsAlike) == []


@pytest.mark.parametrize("units", [2, 4])
def test_kernels_of_a_convolution_are_units(units: int) -> None:
    weight = nn.Parameter(torch.ones(units, 2, 3))
    with inventing(Symmetry) as run:
        train(run, torch.ones(units, 2, 3), weight)
        (event,) = run.of(UnitsAlike)
        assert event.units == units
