"""Which operation gave tensors their values, on small real programs."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.nn import functional

from autograd_doctor.instruments.losses.shapings import Shapings
from autograd_doctor.reading.shaping import Shaped
from tests.watching import watching

SCORES = torch.arange(12.0).reshape(4, 3)


def shaping_of(program: Callable[[torch.Tensor], torch.Tensor]) -> Shaped | None:
    """What is known of what a program makes of scores that require a gradient."""
    with watching(Shapings) as run:
        given = SCORES.clone().requires_grad_()
        made = program(given)
        return run.find(Shapings).of(made)


def chain(shaped: Shaped | None) -> list[str]:
    found = []
    while shaped is not None:
        found.append(shaped.operation)
        shaped = shaped.behind
    return found


def shared(x: torch.Tensor) -> torch.Tensor:
    return x / x.sum(-1)[:, None]


def odds(x: torch.Tensor) -> torch.Tensor:
    return x / (1 + x)


@pytest.mark.parametrize(
    ("program", "operations"),
    [
        (lambda x: torch.softmax(x, 1), ["softmax"]),
        (lambda x: torch.special.softmax(x, 1), ["softmax"]),
        (lambda x: torch.special.expit(x), ["sigmoid"]),
        (lambda x: (x * 1).sigmoid_(), ["sigmoid"]),
        (lambda x: nn.ReLU(inplace=True)(x @ torch.ones(3, 3)), ["relu"]),
        (lambda x: functional.logsigmoid(x), ["logsigmoid"]),
        (lambda x: functional.relu6(x), ["relu6"]),
        (lambda x: nn.ReLU6()(x), ["hardtanh"]),
        (lambda x: functional.linear(x, torch.ones(2, 3)), ["linear"]),
        (lambda x: torch.log(torch.softmax(x, 1)), ["log", "softmax"]),
        (lambda x: torch.log_softmax(torch.softmax(x, 1), 1), ["log_softmax", "softmax"]),
        (lambda x: torch.softmax(x, 1).T.reshape(-1)[2:].double(), ["softmax"]),
        (lambda x: torch.softmax(x, 1).split(2)[1], ["softmax"]),
        (lambda x: functional.dropout(torch.relu(x)), ["relu"]),
        (lambda x: torch.sigmoid(x).clamp(1e-7, 1 - 1e-7) + 1e-8, ["sigmoid"]),
        (lambda x: torch.sigmoid(x) + 0.5, ["add"]),
        (lambda x: 2 * torch.tanh(x), ["mul"]),
        (lambda x: functional.linear(x, torch.ones(2, 3)) / 3, ["linear"]),
        (lambda x: x @ torch.ones(3, 2) + torch.ones(2), ["matmul"]),
        (lambda x: x.clamp(min=0), ["clamp"]),
        (lambda x: torch.softmax(x, 1).mean(1), ["mean"]),
        (lambda x: torch.stack([torch.softmax(x, 1), torch.softmax(x, 0)]), ["softmax"]),
        (lambda x: torch.cat([torch.softmax(x, 1), torch.sigmoid(x)]), []),
        (lambda x: x.exp() / x.exp().sum(1, keepdim=True), ["div"]),
        (lambda x: shared(x.exp()), ["softmax"]),
        (lambda x: shared(torch.sigmoid(x).exp()), ["softmax", "sigmoid"]),
        (lambda x: shared(torch.sigmoid(x)), ["div"]),
        (lambda x: 1 / (1 + torch.exp(-x)), ["sigmoid"]),
        (lambda x: (1 + torch.exp(-torch.sigmoid(x))).reciprocal(), ["sigmoid", "sigmoid"]),
        (lambda x: (torch.exp(x) + 1) ** -1, ["sigmoid"]),
        (lambda x: odds(x.exp()), ["sigmoid"]),
        (lambda x: 1 / (2 + torch.exp(-x)), ["div"]),
        (lambda x: 2 / (1 + torch.exp(-x)), ["div"]),
        (lambda x: nn.GRUCell(3, 2)(x, torch.zeros(4, 2)), ["gru_cell"]),
        (lambda x: nn.GRUCell(3, 2)(x, nn.GRUCell(3, 2)(x)), ["gru_cell"]),
        (lambda x: nn.GRUCell(3, 3)(x, torch.full((4, 3), 2.0)), []),
        (lambda x: nn.GRUCell(3, 3)(x, x), []),
        (lambda x: nn.GRU(3, 2)(x)[0][1:], ["gru"]),
        (lambda x: nn.LSTM(3, 2)(x)[0], ["lstm"]),
        (lambda x: nn.LSTM(3, 2)(x)[1][0], ["lstm"]),
        (lambda x: nn.LSTM(3, 2)(x)[1][1], []),
        (lambda x: nn.LSTM(3, 2, proj_size=1)(x)[0], []),
        (lambda x: nn.RNN(3, 2, nonlinearity="relu")(x)[0], []),
    ],
)
@pytest.mark.filterwarnings("ignore:LSTM with projections")
def test_the_operation_behind_what_moves_values(
    program: Callable[[torch.Tensor], torch.Tensor], operations: list[str]
) -> None:
    assert chain(shaping_of(program)) == operations


@pytest.mark.parametrize(
    ("program", "dim"),
    [
        (lambda x: torch.softmax(x, -1), 1),
        (lambda x: x.softmax(0), 0),
        (lambda x: functional.softmax(x), 1),
        (lambda x: functional.log_softmax(x[None]), 0),
        (lambda x: functional.gumbel_softmax(x), 1),
        (lambda x: torch.sigmoid(x), None),
    ],
)
@pytest.mark.filterwarnings("ignore:Implicit dimension choice")
def test_the_dimension_of_a_softmax(program: Callable[[torch.Tensor], torch.Tensor], dim: int | None) -> None:
    shaped = shaping_of(program)
    assert shaped is not None
    assert shaped.dim == dim


@pytest.mark.parametrize(
    ("program", "low", "high"),
    [
        (lambda x: x.clamp(min=0), 0.0, None),
        (lambda x: x.clip(None, 5), None, 5.0),
        (lambda x: x.clamp(-1, 2), -1.0, 2.0),
        (lambda x: x.clamp_min(-3), -3.0, None),
        (lambda x: torch.clamp_max(x, max=4), None, 4.0),
        (lambda x: x.clamp_min(torch.zeros(3)), None, None),
        (lambda x: -torch.relu(x), None, 0.0),
    ],
)
def test_bounds_of_a_clamp(
    program: Callable[[torch.Tensor], torch.Tensor], low: float | None, high: float | None
) -> None:
    shaped = shaping_of(program)
    assert shaped is not None
    assert (shaped.event().low, shaped.event().high) == (low, high)


def test_a_share_of_others_is_no_softmax() -> None:
    def crossed(x: torch.Tensor) -> torch.Tensor:
        each = (x[:3] * 0.1).exp()
        return each / each.sum(1)

    assert chain(shaping_of(crossed)) == ["div"]


def test_bounds_of_a_hard_tanh_are_its_own() -> None:
    shaped = shaping_of(lambda x: functional.hardtanh(x, -2.0, 3.0))
    assert shaped is not None
    event = shaped.event()
    assert (event.low, event.high) == (-2.0, 3.0)
    assert shaped.signature != shaping_of(torch.tanh)


def test_only_so_many_activations_are_remembered() -> None:
    def deep(x: torch.Tensor) -> torch.Tensor:
        for _ in range(9):
            x = torch.relu(x)
        return x

    assert 1 < len(chain(shaping_of(deep))) <= 4


def test_rows_that_are_filled_in() -> None:
    def decode(x: torch.Tensor) -> torch.Tensor:
        outputs = torch.zeros(2, 4, 3)
        outputs[0] = torch.softmax(x, 1)
        outputs[1] = torch.softmax(x, 1)
        return outputs

    def mixed(x: torch.Tensor) -> torch.Tensor:
        outputs = decode(x)
        outputs[1] = 2 * x
        return outputs

    assert chain(shaping_of(decode)) == ["softmax"]
    assert chain(shaping_of(mixed)) == []


def test_values_that_are_normalised_elsewhere() -> None:
    with watching(Shapings) as run:
        scores = SCORES.clone().requires_grad_() * 2
        other = SCORES.clone().requires_grad_() * 1.5
        moved = scores.T
        torch.logsumexp(scores, 1)
        of = run.find(Shapings).of
        known = [of(scores), of(moved), of(other)]
        assert [shaped is not None and shaped.is_normalised_elsewhere for shaped in known] == [True, True, False]


def test_what_has_no_graph_is_not_followed() -> None:
    with watching(Shapings) as run:
        assert run.find(Shapings).of(torch.softmax(SCORES, 1)) is None
