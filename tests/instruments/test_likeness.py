"""Batches of one sample, pairs of passes that are one, and padding that a loss counts."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

from autograd_doctor.events.data import RowsAlike, TwinPasses
from autograd_doctor.events.losses import PaddedTargetsSeen
from autograd_doctor.instruments.data.alike_rows import AlikeRows
from autograd_doctor.instruments.data.twin_passes import TwinPassesSeen
from autograd_doctor.instruments.losses.padding import PaddedTargets
from tests.watching import Recorded, watching

Loss = Callable[[nn.Module, torch.Tensor], torch.Tensor]


def trained(events: Recorded, model: nn.Module, loss: Loss, make: Callable[[], torch.Tensor]) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(5):
        optimizer.zero_grad()
        loss(model, make()).backward()
        optimizer.step()


# ----------------------------------------------------------------------------------------------------------- one sample


def alike(make: Callable[[], torch.Tensor]) -> list[tuple[int, int, int]]:
    with watching(AlikeRows) as events:
        trained(events, nn.Linear(6, 1), lambda model, x: model(x).square().mean(), make)
    return [(event.rows, event.steps, event.different) for event in events.of(RowsAlike)]


def test_rows_that_are_all_alike_are_counted() -> None:
    assert alike(lambda: torch.tensor([torch.randn(6).tolist()] * 16)) == [(16, 4, 4)]
    state = torch.zeros(6)
    assert alike(lambda: torch.stack([state.normal_()] * 16)) == [(16, 4, 4)]


def test_rows_of_what_was_written_before_may_be_stacked() -> None:
    rows = torch.zeros(9, 6).normal_()
    told = alike(lambda: torch.cat([rows[torch.randint(0, 9, ())][None]] * 16))
    assert [steps for _, steps, _ in told] == [1]


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: torch.randn(16, 6), id="different"),
        pytest.param(lambda: torch.randn(6).expand(16, 6), id="expanded"),
        pytest.param(lambda: torch.stack([torch.randn(6)] * 16), id="stacked"),
        pytest.param(lambda: torch.randn(6).repeat(16, 1), id="repeated"),
        pytest.param(lambda: torch.stack([torch.randn(6).double()] * 16).float(), id="stacked, then cast"),
        pytest.param(lambda: torch.randn(6).double().repeat(16, 1).clone().float(), id="repeated, then cast"),
        pytest.param(lambda: torch.tensor([torch.randn(6).tolist()] * 4), id="few"),
    ],
)
def test_rows_that_are_not_alike_or_are_so_on_purpose(make: Callable[[], torch.Tensor]) -> None:
    assert alike(make) == []


def of_one(loss: Callable[[nn.Module, torch.Tensor, torch.Tensor], torch.Tensor], *layers: nn.Module) -> list[bool]:
    """Of steps with a row that is drawn and repeated, and with an answer to it."""
    model = nn.Sequential(nn.Linear(6, 8), *layers, nn.Linear(8, 2))
    with watching(AlikeRows) as events:
        make = torch.randn(6).normal_
        trained(events, model, lambda model, x: loss(model, x.repeat(16, 1), x[:2].sign().repeat(16, 1)), make)
    return [event.repeated for event in events.of(RowsAlike)]


def test_one_row_and_one_answer_many_times_are_one_sample() -> None:
    assert of_one(lambda model, x, y: (model(x) - y).square().mean()) == [True]
    assert of_one(lambda model, x, y: nn.functional.cross_entropy(model(x), y[:, 0].gt(0).long())) == [True]


@pytest.mark.parametrize(
    ("loss", "layers"),
    [
        pytest.param(lambda m, x, y: (m(x) - y).square().mean(), (nn.Dropout(),), id="random"),
        pytest.param(lambda m, x, y: (m(x) - y - torch.rand(16, 2)).square().mean(), (), id="other answers"),
        pytest.param(lambda m, x, y: ((m(x) - y).square().mean(1) * torch.rand(16)).sum(), (), id="other weights"),
        pytest.param(lambda m, x, y: (m(x) - y).mean() + m(torch.randn(4, 6)).sum(), (), id="others beside it"),
        pytest.param(lambda m, x, y: m(x).square().mean(), (), id="no answer"),
    ],
)
def test_one_row_many_times_where_something_differs(
    loss: Callable[[nn.Module, torch.Tensor, torch.Tensor], torch.Tensor], layers: tuple[nn.Module, ...]
) -> None:
    assert of_one(loss, *layers) == []


# ---------------------------------------------------------------------------------------------------------------- twins


SHAPES = pytest.mark.needs_torch("2.6", "nodes that tell the shape of what they made")


def twins(loss: Loss) -> list[int]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 4))
    with watching(TwinPassesSeen) as events:
        trained(events, model, loss, lambda: torch.randn(16, 6))
    return [event.step for event in events.of(TwinPasses)]


@pytest.mark.parametrize(
    "loss",
    [
        pytest.param(lambda m, x: (m(x.clone()) - m(x.clone())).square().sum(), id="copies"),
        pytest.param(lambda m, x: (m(x * 2) * m(x + x)).sum(), id="made in two ways"),
        pytest.param(lambda m, x: (m(x) * m(x)).sum(), id="one tensor, compared with itself", marks=SHAPES),
        pytest.param(lambda m, x: (m(x[:, :]) - m(x[:, :])).square().sum(), id="views of one tensor", marks=SHAPES),
    ],
)
def test_passes_with_equal_data_that_meet_in_a_loss(loss: Loss) -> None:
    assert twins(loss) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "loss",
    [
        pytest.param(lambda m, x: m(x).sum() + m(x).square().sum(), id="one tensor in two terms"),
        pytest.param(lambda m, x: (m(x).sum(1) + m(x[:, :]).square().sum(1)).mean(), id="in two terms of each sample"),
        pytest.param(lambda m, x: (m(x) * m(x + 0.1)).sum(), id="other data"),
        pytest.param(
            lambda m, x: m(x).sum() + 0 * m(x.clone()).detach().sum(), id="one of them is no part of the loss"
        ),
        pytest.param(lambda m, x: (m(x) * m(x.clone().requires_grad_())).sum(), id="differentiated by the data"),
    ],
)
def test_passes_that_are_no_twins(loss: Loss) -> None:
    assert twins(loss) == []


def test_lines_that_sometimes_have_other_data_are_left() -> None:
    steps = iter(range(5))
    assert twins(lambda m, x: (m(x) * m(x + (next(steps) > 0))).sum()) == []


# -------------------------------------------------------------------------------------------------------------- padding


class Tagger(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed, self.head = nn.Embedding(9, 4), nn.Linear(4, 9)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(self.embed(tokens))  # type: ignore[no-any-return]


def sentences() -> torch.Tensor:
    lengths = torch.randint(2, 8, (6, 1))
    lengths[0], lengths[1] = 7, 3
    return torch.randint(1, 9, (6, 8)).masked_fill(torch.arange(8)[None] >= lengths, 0)


def padded(loss: Loss) -> list[PaddedTargetsSeen]:
    torch.manual_seed(0)
    with watching(PaddedTargets) as events:
        trained(events, Tagger(), loss, sentences)
    return events.of(PaddedTargetsSeen)


def test_padding_that_a_loss_counts() -> None:
    seen = padded(lambda m, x: nn.functional.cross_entropy(m(x).flatten(0, 1), x.flatten()))
    assert [(event.step, event.target, event.filled_with, event.counted) for event in seen] == [
        (step, 0, 0.0, 48) for step in range(4)
    ]
    assert all(event.padded > 0 for event in seen)


@pytest.mark.parametrize(
    "loss",
    [
        pytest.param(lambda m, x: nn.functional.cross_entropy(m(x).mT, x, ignore_index=0), id="ignored"),
        pytest.param(
            lambda m, x: nn.functional.cross_entropy(m(x).mT, x, torch.tensor([0.0] + [1.0] * 8)), id="weight"
        ),
        pytest.param(lambda m, x: nn.functional.cross_entropy(m(x).mT, x, reduction="none").mean(), id="not reduced"),
        pytest.param(lambda m, x: nn.functional.cross_entropy(m(x).mT, (x + torch.arange(8)) % 9), id="other targets"),
    ],
)
def test_padding_that_does_not_count_or_has_targets_of_its_own(loss: Loss) -> None:
    assert {event.target for event in padded(loss)} == {None}
