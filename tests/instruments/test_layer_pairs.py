"""Pairs of layers with nothing nonlinear in between, told from the values that flow."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.nn import functional

from autograd_doctor.events.losses import LayersChained, LayersMerged, LayerUsedOtherwise
from autograd_doctor.instruments.losses.layer_pairs import LayerPairs
from tests.watching import Recorded, watching

Forward = Callable[[nn.Linear, nn.Linear, torch.Tensor], torch.Tensor]


class Net(nn.Module):
    def __init__(self, forward: Forward, first: nn.Module, second: nn.Module) -> None:
        super().__init__()
        self.compute, self.first, self.second = forward, first, second

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.compute(self.first, self.second, x)  # type: ignore[arg-type]


def trained(net: nn.Module) -> Recorded:
    """Two steps of training."""
    with watching(LayerPairs) as recorded:
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        for _ in range(2):
            net(torch.randn(3, 4)).square().sum().backward()
            optimizer.step()
            optimizer.zero_grad()
    return recorded


def followed(forward: Forward, first: nn.Module | None = None, second: nn.Module | None = None) -> Recorded:
    return trained(Net(forward, first or nn.Linear(4, 4), second or nn.Linear(4, 4)))


def test_what_one_model_hands_to_another_is_not_followed() -> None:
    first, second = nn.Linear(4, 4), nn.Linear(4, 4)
    with watching(LayerPairs) as recorded:
        optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.01)
        second(first(torch.randn(3, 4))).sum().backward()
        optimizer.step()
    assert not recorded.of(LayersChained)


def test_features_of_a_part_with_several_layers_are_not_followed_and_those_of_a_single_one_are() -> None:
    body = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))
    assert not trained(nn.Sequential(body, nn.Linear(4, 2))).of(LayersChained)
    block = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.1))
    (pair,) = trained(nn.Sequential(block, nn.Linear(4, 2))).of(LayersChained)
    assert pair.dropped


def test_a_pair_is_told_once_with_its_widths() -> None:
    recorded = followed(lambda one, other, x: other(one(x)), nn.Linear(4, 7), nn.Linear(7, 2))
    (pair,) = recorded.of(LayersChained)
    assert (pair.width_in, pair.width, pair.width_out) == (4, 7, 2)
    assert (pair.of_data, pair.shared, pair.dropped, pair.idle) == (True, False, False, "")
    assert pair.first != pair.second


@pytest.mark.parametrize(
    "between",
    [
        pytest.param(lambda h: h.view(1, 3, 4).squeeze(0).contiguous(), id="views"),
        pytest.param(lambda h: h.float().clone(), id="copies"),
        pytest.param(lambda h: h + nn.Parameter(torch.ones(4)), id="bias"),
    ],
)
def test_values_that_only_move_are_followed(between: Callable[[torch.Tensor], torch.Tensor]) -> None:
    assert len(followed(lambda one, other, x: other(between(one(x)))).of(LayersChained)) == 1


@pytest.mark.parametrize(
    "between",
    [
        pytest.param(torch.relu, id="relu"),
        pytest.param(lambda h: functional.relu(h, inplace=True), id="in place"),
        pytest.param(lambda h: (h.view(3, 4).relu_(), h)[1], id="in place through a view"),
        pytest.param(lambda h: functional.max_pool1d(h, 1), id="pool"),
        pytest.param(lambda h: h + 1.0, id="shift"),
        pytest.param(lambda h: h.view(4, 3).t().contiguous(), id="turned"),
        pytest.param(lambda h: torch.cat([h[:, :2], h[:, 2:]], dim=1), id="cut and joined"),
    ],
)
def test_anything_else_in_between_ends_it(between: Callable[[torch.Tensor], torch.Tensor]) -> None:
    assert not followed(lambda one, other, x: other(between(one(x)))).of(LayersChained)


def test_a_product_with_a_parameter_is_a_layer_if_it_has_a_bias() -> None:
    weight, bias = nn.Parameter(torch.ones(4, 4)), nn.Parameter(torch.zeros(4))
    assert followed(lambda one, other, x: other(x @ weight + bias)).of(LayersChained)
    assert not followed(lambda one, other, x: other(x.softmax(1) @ weight)).of(LayersChained)


def test_a_second_use_in_the_graph_counts_and_one_for_the_eye_does_not() -> None:
    def both(one: nn.Linear, other: nn.Linear, x: torch.Tensor) -> torch.Tensor:
        h = one(x)
        return other(h) + h.exp()

    def shown(one: nn.Linear, other: nn.Linear, x: torch.Tensor) -> torch.Tensor:
        h = one(x)
        float(h.detach().norm() + (h > 0).float().mean())
        return other(h)

    assert not followed(both).of(LayersChained)
    assert len(followed(shown).of(LayersChained)) == 1


def test_another_call_of_the_layer_may_use_it_otherwise_later_on() -> None:
    calls: list[int] = []

    def later(one: nn.Linear, other: nn.Linear, x: torch.Tensor) -> torch.Tensor:
        calls.append(1)
        return other(one(x)) + (one(x).exp() if len(calls) > 1 else 0.0)

    recorded = followed(later)
    assert [event.step for event in recorded.of(LayersChained)] == [1]
    assert [event.step for event in recorded.of(LayerUsedOtherwise)] == [2]


def test_a_result_that_nobody_uses_is_named() -> None:
    def dropped(one: nn.Linear, other: nn.Linear, x: torch.Tensor) -> torch.Tensor:
        h = one(x)
        torch.tanh(h)
        return other(h)

    (pair,) = followed(dropped).of(LayersChained)
    assert pair.idle == "tanh"
    assert pair.idle_at is not None


def test_a_loss_of_the_layer_itself_is_a_use() -> None:
    def forward(one: nn.Linear, other: nn.Linear, x: torch.Tensor) -> torch.Tensor:
        h = one(x)
        h.backward(torch.ones_like(h), retain_graph=True)
        return other(h)

    assert not followed(forward).of(LayersChained)


def test_what_a_frozen_layer_or_one_without_a_graph_makes_is_not_followed() -> None:
    frozen = nn.Linear(4, 4).requires_grad_(False)
    assert not followed(lambda one, other, x: other(one(x)), frozen).of(LayersChained)
    assert not followed(lambda one, other, x: other(one(x).detach())).of(LayersChained)


def test_heads_that_share_a_layer_count_together() -> None:
    head = nn.Linear(4, 3)
    (one, two) = followed(lambda first, second, x: torch.cat([second(h := first(x)), head(h)], dim=1)).of(LayersChained)
    assert one.shared
    assert two.shared
    assert one.width_out == two.width_out == 7


@pytest.mark.parametrize(
    ("first", "second", "depthwise", "factors"),
    [
        (nn.Conv2d(4, 4, 3, groups=4), nn.Conv2d(4, 8, 1), True, False),
        (nn.Conv2d(4, 4, (1, 3)), nn.Conv2d(4, 4, (3, 1)), False, True),
        (nn.Conv2d(4, 4, 3), nn.Conv2d(4, 8, 1), False, False),
        (nn.ConvTranspose2d(4, 6, 3), nn.ConvTranspose2d(6, 6, 3, groups=2), True, False),
    ],
)
def test_convolutions_say_their_groups_and_axes(
    first: nn.Module, second: nn.Module, depthwise: bool, factors: bool
) -> None:
    forward: Forward = lambda one, other, x: other(one(x[0].view(1, 4, 1, 1).expand(2, 4, 6, 6)))  # noqa: E731
    (pair,) = followed(forward, first, second).of(LayersChained)
    assert (pair.depthwise, pair.factors, pair.convolutions) == (depthwise, factors, 2)


@pytest.mark.parametrize(
    ("multiply", "merged"),
    [
        (lambda one, other: other.detach() @ one.detach(), True),
        (lambda one, other: torch.einsum("oh,hi->oi", other.data[:], one.view(4, 4).data), True),
        (lambda one, other: other @ one, False),
        (lambda one, other: one.detach() @ one.detach(), False),
        (lambda one, other: (2 * other.detach()) @ one.detach(), False),
    ],
    ids=["as they are", "views", "with a graph", "one of them", "something else"],
)
def test_weights_of_a_pair_that_are_multiplied(
    multiply: Callable[[torch.Tensor, torch.Tensor], torch.Tensor], merged: bool
) -> None:
    net = Net(lambda first, second, x: second(first(x)), nn.Linear(4, 4), nn.Linear(4, 4))
    weights = net.first.weight, net.second.weight
    with watching(LayerPairs) as recorded:
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        for _ in range(2):
            net(torch.randn(3, 4)).square().sum().backward()
            optimizer.step()
            optimizer.zero_grad()
        for _ in range(2):
            multiply(*weights)  # type: ignore[arg-type]
    (pair,) = recorded.of(LayersChained)
    assert [event.parameters for event in recorded.of(LayersMerged)] == [[pair.first, pair.second]] * merged


def test_a_flattened_picture_goes_on_into_a_linear_layer() -> None:
    forward: Forward = lambda one, other, x: other(one(x[0].view(1, 4, 1, 1).expand(2, 4, 2, 2)).flatten(1))  # noqa: E731
    (pair,) = followed(forward, nn.Conv2d(4, 4, 1), nn.Linear(16, 2)).of(LayersChained)
    assert pair.convolutions == 1


@pytest.mark.parametrize(("file", "told"), [("/v/site-packages/lib/net.py", 0), ("/home/me/net.py", 1)])
def test_how_a_library_builds_its_modules_is_its_own_affair(file: str, told: int) -> None:
    source = "def forward(first, second, x):\n    return second(first(x))\n"
    names: dict[str, Forward] = {}
    exec(compile(source, file, "exec"), names)
    assert len(followed(names["forward"]).of(LayersChained)) == told
