"""The longest way of a gradient through layers, and what arrives at each of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

from autograd_doctor.reading.graph_walk import GraphWalk
from autograd_doctor.reading.layers import LayerOnWay, before_layers, longest_way, weights_of

Magnitudes = dict[int, list[float]]


def matrix(rows: int = 2, columns: int = 2, value: float = 1.0) -> nn.Parameter:
    return nn.Parameter(torch.full((rows, columns), value))


def way(loss: torch.Tensor, magnitudes: Magnitudes | None = None) -> list[LayerOnWay]:
    return longest_way(GraphWalk([loss], backward=0, step=0), {} if magnitudes is None else magnitudes)


def measured_way(loss: torch.Tensor) -> list[LayerOnWay]:
    """With the norms of what each node passes on, as hooks on them see it."""
    walk, magnitudes = GraphWalk([loss], backward=0, step=0), Magnitudes()

    def hook(key: int) -> Callable[..., None]:
        def keep(passed_on: Sequence[torch.Tensor | None], _: Any) -> None:
            magnitudes[key] = [0.0 if each is None else float(each.norm()) for each in passed_on]

        return keep

    for key, node in walk.nodes.items():
        node.register_hook(hook(key))
    loss.backward()
    return longest_way(walk, magnitudes)


def names(layers: list[LayerOnWay], *weights: torch.Tensor) -> list[list[int]]:
    return [
        [next(i for i, each in enumerate(weights) if each is weight) for weight in layer.weights] for layer in layers
    ]


def test_layers_come_from_the_loss_on_with_the_gradients_at_their_outputs() -> None:
    first, second = matrix(value=2.0), matrix(value=3.0)
    hidden = torch.ones(1, 2) @ first
    output = hidden @ second
    hidden.retain_grad()
    output.retain_grad()
    layers = measured_way((output * 5.0).sum())
    assert names(layers, first, second) == [[1], [0]]
    assert output.grad is not None
    assert hidden.grad is not None
    assert [layer.gradients for layer in layers] == [
        [pytest.approx(float(output.grad.norm()))],
        [pytest.approx(float(hidden.grad.norm()))],
    ]


def test_gradients_of_several_consumers_are_added_as_if_they_were_independent() -> None:
    first, second, third = matrix(), matrix(value=3.0), matrix(value=4.0)
    hidden = torch.ones(1, 2) @ first
    layers = measured_way((hidden @ second).sum() + (hidden @ third).sum())
    assert layers[-1].weights[0] is first
    assert layers[-1].gradients == [pytest.approx(((2 * 6.0**2) + (2 * 8.0**2)) ** 0.5)]


def test_the_way_is_the_one_that_passes_most_layers() -> None:
    short, a, b, c = (matrix() for _ in range(4))
    x = torch.ones(1, 2)
    layers = way((x @ short).sum() + (x @ a @ b @ c).sum())
    assert names(layers, a, b, c) == [[2], [1], [0]]
    skipped = x @ a
    assert names(way((skipped + (skipped @ b).tanh() @ c).sum()), a, b, c) == [[2], [1], [0]]


def test_a_layer_that_is_applied_again_and_again_has_a_gradient_for_each_time() -> None:
    recurrent = matrix(value=1.0)
    hidden = torch.ones(1, 2)
    for _ in range(4):
        hidden = hidden @ recurrent
    (layer,) = measured_way(hidden.sum())
    assert layer.gradients == pytest.approx([2**0.5 * 2**power for power in range(4)])


@pytest.mark.parametrize("times", [32, 33, 95])
def test_gradients_of_many_times_are_spread_from_the_first_to_the_last(times: int) -> None:
    layer = LayerOnWay((matrix(),), None, "", [float(number) for number in range(times)])
    some = layer.some_gradients()
    assert len(some) == 32
    assert (some[0], some[-1]) == (0.0, times - 1.0)
    assert some == sorted(set(some))


def test_a_few_times_are_all_told() -> None:
    layer = LayerOnWay((matrix(),), None, "", [3.0, 2.0])
    assert layer.some_gradients() == [3.0, 2.0]
    assert LayerOnWay((matrix(),), None, "", [3.0]).some_gradients() == [3.0]


def test_where_nothing_was_measured_nothing_arrived() -> None:
    (layer,) = way((torch.ones(1, 2) @ matrix()).sum())
    assert layer.gradients == [0.0]


def test_a_loss_without_layers_has_no_way() -> None:
    assert way(torch.ones(2, requires_grad=True).sum()) == []


def test_what_flows_into_a_layer_is_told_from_what_a_loss_is_made_of() -> None:
    first, second = matrix(), matrix()
    fed = (torch.ones(1, 2) @ first).relu()
    output = fed.exp() @ second
    limit = output.relu()
    walk = GraphWalk([limit.sum() + output.sum()], backward=0, step=0)
    found = before_layers(walk)
    assert id(fed.grad_fn) in found
    assert id(fed.grad_fn.next_functions[0][0]) in found, "the layer before it"
    assert id(limit.grad_fn) not in found
    assert id(output.grad_fn) not in found


def applied(weight: nn.Parameter) -> dict[str, torch.Tensor]:
    x = torch.ones(3, 2)
    return {
        "product": x @ weight,
        "transposed": x @ weight.T,
        "cast": x.double() @ weight.double().T,
        "linear with bias": F.linear(x, weight, nn.Parameter(torch.ones(2))),
        "batched": torch.ones(4, 3, 2) @ weight,
        "convolution": F.conv1d(torch.ones(1, 2, 5), weight[:, :, None]),
    }


@pytest.mark.parametrize("how", applied(matrix()))
def test_weights_are_found_behind_what_is_done_to_them_alone(how: str) -> None:
    weight = matrix()
    layers = way(applied(weight)[how].sum())
    assert names(layers, weight) == [[0]]


def test_what_is_no_matrix_or_far_behind_is_no_weight() -> None:
    scale, weight = nn.Parameter(torch.ones(2)), matrix()
    assert weights_of((torch.ones(3, 2) * scale).grad_fn) == ()
    assert weights_of(weight.T.grad_fn) == ()
    mixed = torch.ones(3, 2) @ (weight @ torch.ones(2, 2))
    assert names(way(mixed.sum()), weight) == [[0]], "the product that it takes part in"
    near = weight.abs().abs().abs().abs()
    assert weights_of((torch.ones(3, 2) @ near).grad_fn)[0] is weight
    assert weights_of((torch.ones(3, 2) @ near.abs()).grad_fn) == ()


def test_matrices_that_work_together_are_one_layer() -> None:
    inputs, recurrent = matrix(), matrix()
    cell = nn.LSTMCell(2, 2)
    hidden, _ = cell(torch.ones(1, 2))
    found = way(hidden.sum())
    assert {id(weight) for layer in found for weight in layer.weights} <= {id(each) for each in cell.parameters()}
    bilinear = way(torch.bmm(inputs[None], recurrent[None]).sum())
    assert names(bilinear, inputs, recurrent) == [[0, 1]]
