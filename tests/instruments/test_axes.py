"""Views that mix axes, in small programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from autograd_doctor.events.losses import AxesMixed, AxesRestored
from autograd_doctor.instruments.losses.axes import AxesFollowed
from autograd_doctor.instruments.losses.layer_pairs import LayerPairs
from autograd_doctor.instruments.losses.still_outputs import StillOutputs
from tests.watching import watching

Compute = Callable[[Any, torch.Tensor], torch.Tensor]


def told(compute: Compute, layer: nn.Module, x: torch.Tensor) -> list[AxesMixed]:
    """What is stated in three steps of training on this."""
    with watching(AxesFollowed) as recorded:
        optimizer = torch.optim.SGD(layer.parameters(), lr=0.01)
        for _ in range(3):
            compute(layer, x).square().sum().backward()
            optimizer.step()
            optimizer.zero_grad()
    return recorded.of(AxesMixed)


def test_a_view_is_told_of_in_two_steps_with_what_made_its_input() -> None:
    events = told(lambda rnn, x: rnn(x)[1].view(5, 8), nn.GRU(3, 4, num_layers=2), torch.randn(6, 5, 3))
    assert [event.step for event in events] == [0, 1]
    assert events[0].how == "samples"
    assert (events[0].before, events[0].after, events[0].size) == ([2, 5, 4], [5, 8], 5)
    assert events[0].operation == "view"
    assert events[0].made_by == "gru"
    assert events[0].location != events[0].made_at


@pytest.mark.parametrize(
    ("compute", "layer", "shape", "how"),
    [
        pytest.param(
            lambda rnn, x: torch.relu(rnn(x)[0]).reshape(5, 24), nn.LSTM(3, 4), (6, 5, 3), "samples", id="time first"
        ),
        pytest.param(
            lambda conv, x: torch.relu(conv(x)).view(-1, 4), nn.Conv1d(3, 4, 1), (2, 3, 6), "channels", id="channels"
        ),
        pytest.param(
            lambda linear, x: linear(x).view(2, 7, 6), nn.Linear(3, 7), (2, 6, 3), "permuted", id="features"
        ),
        pytest.param(
            lambda linear, x: linear(x.view(6, 2, 3)), nn.Linear(3, 7), (2, 6, 3), "permuted", id="from outside"
        ),
        pytest.param(
            lambda linear, x: linear((2 * x)[x[:, 0, 0] < 99].view(6, 2, 3)), nn.Linear(3, 7), (2, 6, 3), "permuted",
            id="computed from data",
        ),
        pytest.param(
            lambda linear, x: (linear(x) @ torch.eye(8)).view(2, 6, 2, 4).transpose(1, 2).contiguous().view(2, 6, 8),
            nn.Linear(3, 8), (2, 6, 3), "merged", id="heads that are not brought back",
        ),
        pytest.param(
            lambda linear, x: linear(x).view(2, 2, 6, 4), nn.Linear(3, 8), (2, 6, 3), "split", id="heads in front"
        ),
        pytest.param(
            lambda conv, x: conv(x).view(2, 5, 16), nn.Conv2d(3, 4, 1), (2, 3, 4, 5), "merged", id="columns in front"
        ),
    ],
)  # fmt: skip
def test_axes_are_followed_to_a_view_that_mixes_them(
    compute: Compute, layer: nn.Module, shape: tuple[int, ...], how: str
) -> None:
    assert {event.how for event in told(compute, layer, torch.randn(shape))} == {how}


@pytest.mark.parametrize(
    ("compute", "layer", "shape"),
    [
        pytest.param(lambda rnn, x: rnn(x)[0].reshape(6, 20), nn.LSTM(3, 4), (6, 5, 3), id="time kept in front"),
        pytest.param(
            lambda rnn, x: rnn(x)[0].reshape(5, 24), nn.LSTM(3, 4, batch_first=True), (5, 6, 3), id="batch first"
        ),
        pytest.param(
            lambda rnn, x: rnn(x)[0].transpose(0, 1).reshape(5, 24), nn.LSTM(3, 4), (6, 5, 3), id="turned before"
        ),
        pytest.param(
            lambda linear, x: torch.cat([linear(x), linear(x)[..., :1]], 2).view(2, 8, 6), nn.Linear(3, 7), (2, 6, 3),
            id="of unknown axes",
        ),
        pytest.param(
            lambda linear, x: linear((x > 0).view(6, 2, 3).float()), nn.Linear(3, 7), (2, 6, 3), id="a mask"
        ),
        pytest.param(
            lambda linear, x: linear(x).view(2, 6, 2, 4).transpose(1, 2).reshape(2, 2, 24), nn.Linear(3, 8), (2, 6, 3),
            id="heads flattened",
        ),
        pytest.param(
            lambda linear, x: linear(x).view(2, 2, 2, 4), nn.Linear(3, 8), (2, 2, 3), id="as many heads as positions"
        ),
        pytest.param(
            lambda linear, x: linear(x).view(5, 24, 6), nn.Linear(3, 24), (5, 6, 3), id="heads folded into the batch"
        ),
        pytest.param(
            lambda linear, x: linear(x).chunk(2, 2)[1].contiguous().view(5, 24, 6), nn.Linear(3, 48), (5, 6, 3),
            id="a part of them",
        ),
        pytest.param(
            lambda conv, x: conv(x).view(2, 4, 32), nn.Conv2d(3, 8, 1), (2, 3, 4, 4), id="groups of channels"
        ),
        pytest.param(
            lambda conv, x: conv(x).view(2, 12, 5), nn.Conv2d(3, 4, 1), (2, 3, 3, 5), id="channels and rows"
        ),
        pytest.param(
            lambda conv, x: conv(x).view(2, 6, 10), nn.Conv2d(3, 4, 1), (2, 3, 3, 5), id="sizes of nothing"
        ),
    ],
)  # fmt: skip
def test_other_views_are_not_told_of(compute: Compute, layer: nn.Module, shape: tuple[int, ...]) -> None:
    assert told(compute, layer, torch.randn(shape)) == []


@pytest.mark.parametrize(
    ("compute", "is_restored"),
    [
        pytest.param(lambda linear, x: linear(x.view(12, 4)).view(4, -1), True, id="brought back"),
        pytest.param(lambda linear, x: linear(x.view(12, 4)).view(3, -1), False, id="to others"),
        pytest.param(lambda linear, x: linear(x.view(12, 4)), False, id="left there"),
    ],
)
def test_rows_that_are_cut_may_be_brought_back(compute: Compute, *, is_restored: bool) -> None:
    with watching(AxesFollowed) as recorded:
        layer = nn.Linear(4, 5)
        optimizer = torch.optim.SGD(layer.parameters(), lr=0.01)
        compute(layer, torch.randn(4, 12)).square().sum().backward()
        optimizer.step()
    (mixed,) = recorded.of(AxesMixed)
    assert [event.location for event in recorded.of(AxesRestored)] == [mixed.location] * is_restored


def test_rows_that_are_no_part_of_one_are_mixed() -> None:
    with watching(AxesFollowed) as recorded:
        layer = nn.Linear(4, 6)
        optimizer = torch.optim.SGD(layer.parameters(), lr=0.01)
        layer(torch.randn(4, 6).view(6, 4)).view(4, -1)[:, :1].sum().backward()
        optimizer.step()
    assert recorded.of(AxesMixed)
    assert not recorded.of(AxesRestored)


def test_attention_is_followed_from_queries_to_values() -> None:
    def attended(linear: nn.Linear, x: torch.Tensor) -> torch.Tensor:
        heads = linear(x).view(2, 6, 2, 4).transpose(1, 2)
        return nn.functional.scaled_dot_product_attention(heads, heads, heads)

    x = torch.randn(2, 6, 3)
    (first, _) = told(lambda linear, x: attended(linear, x).reshape(2, 6, 8), nn.Linear(3, 8), x)
    assert (first.how, first.size, first.made_by) == ("merged", 6, "scaled_dot_product_attention")
    assert told(lambda linear, x: attended(linear, x).transpose(1, 2).reshape(2, 6, 8), nn.Linear(3, 8), x) == []


def test_an_array_that_was_given_another_shape() -> None:
    pictures = np.zeros((4, 5, 5, 3), dtype=np.float32)
    with watching(AxesFollowed) as recorded:
        torch.from_numpy(pictures.reshape(4, 3, 5, 5))
        torch.from_numpy(pictures.reshape(4, 75).reshape(4, 5, 15))
        torch.from_numpy(pictures.transpose(0, 3, 1, 2))
        torch.from_numpy(pictures[:2])
        torch.from_numpy(pictures)
        torch.as_tensor([1.0])
    (event,) = recorded.of(AxesMixed)
    assert (event.operation, event.how) == ("reshape", "permuted")
    assert (event.before, event.after) == ([4, 5, 5, 3], [4, 3, 5, 5])


def test_layers_that_have_no_shape_yet_are_no_obstacle() -> None:
    layer = nn.Sequential(nn.LazyLinear(4), nn.ReLU(), nn.LazyLinear(2))
    with watching(AxesFollowed, LayerPairs, StillOutputs) as recorded:
        layer(torch.randn(5, 3)).sum().backward()
    assert not recorded.of(AxesMixed)
