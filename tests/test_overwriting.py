"""What a write to a parameter leaves of what steps had made of it."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from autograd_doctor.reading.overwriting import Bounds, Weighed, heeds, weigh
from autograd_doctor.reading.rescaled import keeps_directions


def weighed(last: list[float], before: list[float], now: list[float], bounds: Bounds | None = None) -> Weighed:
    old, found, parameter = torch.tensor(last), torch.tensor(before), nn.Parameter(torch.tensor(now))
    return Weighed._make(weigh(old, found, parameter, bounds or Bounds.of(old)).tolist())


@pytest.mark.parametrize(
    ("last", "before", "now", "moved", "free", "held"),
    [
        ([1.0, 2.0, 3.0], [1.0, 2.5, 3.5], [1.0, 2.5, 3.5], 2, 2, 0),
        ([0.0, 0.5, 1.0], [-0.5, 0.6, 1.5], [0.0, 0.6, 1.0], 3, 1, 2),
        ([0.2, 0.5, 0.9], [-0.5, 0.6, 1.5], [0.0, 0.6, 1.0], 3, 1, 2),
        ([-1.0, 1.0, -1.0], [-0.9, 1.1, -1.1], [-1.0, 1.0, -1.0], 3, 0, 2),
        ([0.0, 0.0, 3.0], [0.1, -0.1, 3.1], [0.0, 0.0, 3.1], 3, 1, 2),
        ([0.0, 0.0], [0.1, -0.1], [0.0, 0.0], 2, 0, 0),
        ([2.0, 2.0], [2.1, 2.2], [2.0, 2.0], 2, 0, 2),
        ([2.0, 2.0], [2.1, 1.9], [2.0, 2.0], 2, 0, 0),
        ([1.0, 2.0, 3.0], [1.1, 2.1, 3.1], [1.05, 2.05, 3.05], 3, 0, 1),
    ],
    ids=["nothing", "clamp", "clamp reached", "signs", "mask", "zeros", "one side", "both sides", "half"],
)
def test_which_values_are_left_alone_or_held(last, before, now, moved, free, held):
    found = weighed(last, before, now)
    assert (found.moved, found.free, found.held) == (moved, free, held)


def test_sums_are_of_what_is_neither_left_alone_nor_held():
    found = weighed([-9.0, 1.0, 2.0, 9.0], [-9.0, 2.0, 4.0, 9.0], [-9.0, 1.5, 4.0, 9.0])
    assert (found.done, found.kept, found.left) == (1.0, 0.5, 0.25)
    assert (found.changed, found.size) == (0.25, 182.0)


def test_a_value_that_was_free_once_may_have_a_bound_of_its_own():
    bounds = Bounds.of(torch.zeros(3))
    below, above = [0.0, 1.0, 9.0], [0.0, 1.4, 9.0]
    assert weighed(below, above, below, bounds).held == 0, "it has never been free"
    assert weighed(below, [0.0, 0.9, 9.0], [0.0, 0.9, 9.0], bounds).free == 1
    assert weighed([0.0, 0.9, 9.0], above, below, bounds).held == 0, "not where it was"
    assert weighed(below, above, below, bounds).held == 1
    assert weighed(below, [0.0, 0.8, 9.0], below, bounds).held == 0, "from both sides"


def test_values_that_were_never_free_may_have_bounds_of_their_own_where_as_many_others_are():
    last, low, high = [0.0, 1.0, 9.0], [0.0, 0.9, 9.5], [0.0, 1.1, 9.5]
    bounds = Bounds.of(torch.zeros(3))
    found = weighed(last, high, [0.0, 1.0, 9.5], bounds)
    assert (found.moved, found.free, found.held, found.done) == (2, 1, 0, 0)
    assert weighed(last, low, [0.0, 1.0, 9.5], bounds).done > 0, "from both sides"
    assert weighed(last, [0.1, 1.1, 9.5], [0.0, 1.0, 9.5]).done > 0, "fewer are free"


def test_one_value_that_is_put_back_from_both_sides_is_at_no_bound():
    bounds = Bounds.of(torch.zeros(1))
    assert weighed([2.0], [2.1], [2.0], bounds).held == 1
    assert weighed([2.0], [1.9], [2.0], bounds).held == 0
    assert weighed([2.0], [3.1], [3.0], bounds).held == 1, "another place"


@pytest.mark.parametrize(
    ("function", "rest", "does"),
    [
        (torch.Tensor.clamp_, (0.0, 2.0), True),
        (torch.Tensor.mul_, (torch.ones(3),), True),
        (torch.Tensor.fill_, (2.0,), False),
        (nn.init.normal_, (), False),
        (torch.Tensor.copy_, (torch.ones(3),), None),
    ],
)
def test_whether_a_write_heeds_what_is_there(function: Any, rest: tuple[Any, ...], does: bool | None):
    target, state = nn.Parameter(torch.full((3,), 2.1)), torch.get_rng_state()
    assert heeds(function, target, rest, {}) is does
    assert target.tolist() == torch.full((3,), 2.1).tolist()
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize(
    ("write", "does"),
    [
        (lambda w: w / w.norm(dim=1, keepdim=True), True),
        (lambda w: w / w.sum(), True),
        (lambda w: w - w.mean(), False),
        (lambda w: (w * 64).round() / 64, False),
        (lambda w: w.clamp(-0.1, 0.1), False),
    ],
    ids=["rows", "whole", "shift", "rounded", "clamped"],
)
def test_changes_along_what_was_there(write, does):
    torch.manual_seed(0)
    weight = torch.randn(4, 6)
    assert bool(keeps_directions(weight, write(weight))) is does
    one = torch.randn(4, 1)
    assert not keeps_directions(one, one.sign()), "one value is along any other"
    assert not keeps_directions(torch.ones(()), torch.zeros(()))
    assert not keeps_directions(weight, torch.zeros(4, 6)), "nothing is left"
