"""What becomes of the outputs of passes in train mode that no backward comes through."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.func import functional_call
from torch.nn import functional

from autograd_doctor.events.connectivity import IdleOutputSeen
from autograd_doctor.instruments.connectivity.idle_outputs import IdleOutputs
from tests.watching import watching

Use = Callable[[torch.Tensor, torch.Tensor], Any]


def seen(use: Use, *, drawn: bool = True, train: bool = True, **weights: torch.Tensor) -> list[tuple[bool, bool]]:
    """What is said of a pass whose output is used in some way, beside data."""
    with watching(IdleOutputs) as events:
        model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)).train(train)
        given = torch.randn(8, 3)
        wanted = torch.randn(8, 2).cos()
        with torch.no_grad():
            use(functional_call(model, weights, (given if drawn else given.sin(),)), wanted)
    return [(event.compared, event.borrowed) for event in events if isinstance(event, IdleOutputSeen)]


@pytest.mark.parametrize(
    "use",
    [
        lambda said, wanted: said,
        lambda said, wanted: torch.cat([said, wanted]),
        lambda said, wanted: (said + 1) / 2,
        lambda said, wanted: said - said.mean(),
        lambda said, wanted: functional.mse_loss(said, torch.ones_like(said)),
        lambda said, wanted: functional.mse_loss(torch.zeros(2), wanted[0]),
        lambda said, wanted: said.std().item(),
        lambda said, wanted: said.tolist(),
    ],
    ids=["kept", "beside data", "scaled", "centred", "a constant", "something else", "one number", "an array of noise"],
)
def test_what_is_only_shown(use: Use) -> None:
    assert seen(use) == [(False, False)]


@pytest.mark.parametrize(
    "use",
    [
        lambda said, wanted: functional.mse_loss(said, wanted),
        lambda said, wanted: (said - wanted).abs(),
        lambda said, wanted: wanted - said,
        lambda said, wanted: said.argmax(1) == wanted.argmax(1),
        lambda said, wanted: torch.cat([said, said]).gather(1, wanted.argmax(1, keepdim=True)),
    ],
    ids=["loss", "difference", "the other way", "hits", "picked"],
)
@pytest.mark.parametrize("drawn", [True, False])
def test_what_is_compared_with_data(use: Use, drawn: bool) -> None:
    assert seen(use, drawn=drawn) == [(True, False)]


@pytest.mark.parametrize("leave", [lambda said: said.tolist(), lambda said: said.argmax(1)[0].item()])
def test_what_leaves_torch_may_be_compared_there(leave: Callable[[torch.Tensor], Any]) -> None:
    assert seen(lambda said, wanted: leave(said), drawn=False) == [(True, False)]


@pytest.mark.parametrize(
    ("use", "meant"),
    [
        (lambda said: None, True),
        (lambda said: said.shape[1] + said.dim(), True),
        (lambda said: said.std(), False),
        (lambda said: said.tolist(), False),
        (nn.ReLU(), False),
    ],
    ids=["nothing", "its shape", "a statistic", "an array", "another module"],
)
def test_what_nothing_takes_is_a_pass_for_its_traces(use: Callable[[torch.Tensor], Any], meant: bool) -> None:
    with watching(IdleOutputs) as events:
        model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
        with torch.no_grad():
            use(model(torch.randn(8, 3)))
    assert next(event.meant for event in events if isinstance(event, IdleOutputSeen)) is meant


def test_weights_in_the_place_of_those_of_a_module() -> None:
    weights = {"0.weight": torch.ones(2, 3)}
    assert seen(lambda said, wanted: said - wanted, **weights) == [(True, True)]


def test_passes_in_eval_mode_are_left_alone() -> None:
    assert seen(lambda said, wanted: said - wanted, train=False) == []


def test_each_line_is_told_of_once() -> None:
    assert len(seen(lambda said, wanted: [torch.relu(said) for _ in range(3)])) == 1


def with_a_graph(use: Callable[[nn.Module, torch.Tensor, torch.Tensor], Any]) -> list[bool]:
    """Whether what passes gave is compared, of a model that is called with gradients on."""
    with watching(IdleOutputs) as events:
        use(nn.Linear(3, 2), torch.randn(8, 3), torch.randn(8, 2))
    return [event.compared for event in events if isinstance(event, IdleOutputSeen) and event.grad_enabled]


def test_a_score_with_gradients_on() -> None:
    assert with_a_graph(lambda model, x, y: functional.mse_loss(model(x), y)) == [True]


def test_pseudo_labels_are_no_score() -> None:
    assert with_a_graph(lambda model, x, y: functional.mse_loss(model(x).detach(), y.clone().mul(model(x)))) == [
        False,
        False,
    ]


def test_lines_that_a_backward_came_back_to_are_left_alone() -> None:
    def train_and_score(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> None:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            functional.mse_loss(model(x), y).backward()
            optimizer.step()

    assert with_a_graph(train_and_score) == [True]  # of the first pass, before its backward
