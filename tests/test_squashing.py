"""Which layer an activation follows, which units are active, and what is flat."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

from autograd_doctor.reading.squashing import active_units, flatness, is_rectifier, is_sharpened, weights_before

X = torch.ones(3, 4)


def weight(*shape: int) -> nn.Parameter:
    return nn.Parameter(torch.ones(shape or (4, 4)))


# ---------------------------------------------------------------------------------------------------- layer before it


@pytest.mark.parametrize(
    "between",
    [
        lambda hidden: hidden,
        lambda hidden: hidden + 1.0,
        lambda hidden: hidden - torch.ones(4, requires_grad=True),
        lambda hidden: F.layer_norm(hidden, (4,)),
        lambda hidden: F.batch_norm(hidden, None, None, training=True),
        lambda hidden: F.group_norm(hidden, 2),
        lambda hidden: hidden.view(3, 2, 2).unsqueeze(0).squeeze(0),
        lambda hidden: hidden.double(),
    ],
    ids=["nothing", "sum", "difference", "layer norm", "batch norm", "group norm", "shape", "cast"],
)
def test_the_layer_before_an_activation_is_found_behind_what_may_lie_between(between) -> None:  # type: ignore[no-untyped-def]
    matrix = weight()
    found, convolution = weights_before(between(X @ matrix).relu().grad_fn)
    assert len(found) == 1
    assert found[0] is matrix
    assert not convolution


@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_a_convolution_is_told_as_one(dimensions: int) -> None:
    kernel = weight(5, 2, *[1] * dimensions)
    convolve = (F.conv1d, F.conv2d, F.conv3d)[dimensions - 1]
    found, convolution = weights_before(convolve(torch.ones(1, 2, *[3] * dimensions), kernel).relu().grad_fn)
    assert found[0] is kernel
    assert convolution


def test_what_another_operation_made_belongs_to_no_layer() -> None:
    for before in ((X @ weight()).exp(), (X @ weight()).softmax(1), X * nn.Parameter(torch.ones(4)), X):
        assert weights_before(before.relu().grad_fn) == ((), False)


def test_the_nearest_layer_counts() -> None:
    first, second = weight(), weight()
    found, _ = weights_before(((X @ first) @ second).relu().grad_fn)
    assert found[0] is second


def test_a_long_sum_is_not_searched_for_ever() -> None:
    hidden = X @ weight()
    for _ in range(20):
        hidden = hidden + 1.0
    assert weights_before(hidden.relu().grad_fn) == ((), False)


@pytest.mark.parametrize(
    ("before", "sharpened"),
    [
        (lambda hidden: hidden * 50.0, True),
        (lambda hidden: -50 * hidden, True),
        (lambda hidden: hidden / 0.1, True),
        (lambda hidden: hidden * torch.tensor([2.0]), True),
        (lambda hidden: hidden * 0.5, False),
        (lambda hidden: hidden / 8, False),
        (lambda hidden: hidden, False),
        (lambda hidden: hidden + 50.0, False),
        (lambda hidden: hidden * torch.full((4,), 50.0), False),
        (lambda hidden: hidden * nn.Parameter(torch.tensor(50.0)), True),
        (lambda hidden: nn.Parameter(torch.tensor([4.0])).exp() * hidden, True),
        (lambda hidden: hidden / nn.Parameter(torch.tensor(0.02)), True),
        (lambda hidden: hidden * nn.Parameter(torch.tensor(0.5)), False),
        (lambda hidden: hidden / nn.Parameter(torch.tensor(8.0)), False),
        (lambda hidden: nn.Parameter(torch.tensor(0.02)) / hidden, False),
        (lambda hidden: hidden * nn.Parameter(torch.full((4,), 50.0)), False),
        (lambda hidden: 1.0 / hidden, False),
    ],
)
def test_a_number_that_makes_the_input_larger_is_meant(before, sharpened) -> None:  # type: ignore[no-untyped-def]
    assert is_sharpened(before(X @ weight()).sigmoid().grad_fn) == sharpened


def test_what_works_on_a_leaf_is_not_sharpened() -> None:
    assert not is_sharpened(weight().sigmoid().grad_fn)


# ------------------------------------------------------------------------------------------------------------- units


def test_a_unit_is_active_if_some_sample_activates_it() -> None:
    output = torch.tensor([[0.0, 1.0, 0.0], [0.0, 0.0, 2.0]])
    assert active_units(output, channels=False).tolist() == [False, True, True]
    assert active_units(output, channels=True).tolist() == [False, True, True], "a convolution of no image"


def test_units_of_images_are_channels_only_behind_convolutions() -> None:
    output = torch.zeros(2, 3, 4)
    output[1, 2, 3] = 1.0
    assert active_units(output, channels=True).tolist() == [False, False, True]
    assert active_units(output, channels=False).tolist() == [False, False, False, True]


def test_values_that_are_not_finite_are_none_that_died() -> None:
    output = torch.tensor([[float("nan"), float("inf"), 0.0, -1.0]])
    assert active_units(output, channels=False).tolist() == [True, True, False, False]


def test_of_one_sample_each_value_is_a_unit() -> None:
    assert active_units(torch.tensor([1.0, 0.0]), channels=False).tolist() == [True, False]


# ---------------------------------------------------------------------------------------------------------- flatness


def flat(operation: str, values: torch.Tensor, *arguments: int) -> list[int] | None:
    given = values.requires_grad_()
    counts = flatness(operation, getattr(given, operation)(*arguments), given.detach())
    return None if counts is None else counts.tolist()


def test_values_are_flat_where_the_slope_is_below_a_thousandth() -> None:
    assert flat("tanh", torch.tensor([0.0, 3.0, 4.2, -4.2, -9.0, -4.1])) == [3, 2, 6]
    assert flat("sigmoid", torch.tensor([0.0, 6.0, 7.0, -7.0, -6.8, -30.0])) == [3, 2, 6]


@pytest.mark.parametrize(("dimension", "counts"), [(0, [2, 0, 2]), (1, [2, 0, 3]), (-1, [2, 0, 3]), (-2, [2, 0, 2])])
def test_rows_of_a_softmax_are_flat_where_one_entry_has_it_all(dimension: int, counts: list[int]) -> None:
    assert flat("softmax", torch.tensor([[9.0, 0.0], [0.0, 9.0], [0.0, 1.0]]), dimension) == counts


@pytest.mark.parametrize(("lead", "rows"), [(4.5, 0), (4.7, 1)])
def test_a_hundredth_left_to_the_others_is_too_little(lead: float, rows: int) -> None:
    assert flat("softmax", torch.tensor([[lead, 0.0]]), 1) == [rows, 0, 1]


def test_rows_of_which_a_mask_leaves_one_entry_are_not_counted() -> None:
    masked = torch.finfo(torch.float32).min
    assert flat("softmax", torch.tensor([[1.0, masked, masked], [9.0, 0.0, masked], [1.0, 0.0, -1e9]]), 1) == [1, 0, 2]


def test_a_softmax_of_one_entry_or_of_unknown_direction_says_nothing() -> None:
    assert flat("softmax", torch.tensor([[9.0], [0.0]]), 1) is None
    behind = torch.tensor([[9.0, 0.0]]).requires_grad_().softmax(1) * 1.0
    assert flatness("softmax", behind, behind) is None


@pytest.mark.parametrize(
    ("activation", "expected"),
    [
        (torch.relu, True),
        (F.relu6, True),
        (lambda x: x.clamp_min(0), True),
        (lambda x: x.clamp(0, 6), True),
        (lambda x: torch.clip(x, min=0.0), True),
        (lambda x: x.clamp(-1, 1), False),
        (lambda x: x.clamp(max=0), False),
        (lambda x: x.clamp(min=torch.zeros(4)), False),
    ],
)
def test_a_limit_of_zero_from_below_is_a_rectifier(
    activation: Callable[[torch.Tensor], torch.Tensor], expected: bool
) -> None:
    assert is_rectifier(activation(torch.randn(3, 4, requires_grad=True)).grad_fn) is expected
