"""Columns that meet rows, followed to where all their pairs are summed up, on small real programs."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.nn import functional

from autograd_doctor.events.losses import PairsMeant, PairsReduced
from autograd_doctor.instruments.losses.pairs import Pairs
from tests.watching import watching

X = torch.arange(24.0).reshape(6, 4) / 10
ROW = torch.arange(6.0)
OTHER = torch.arange(6.0, 12.0)

Program = Callable[[torch.Tensor], torch.Tensor]


def pairs(program: Program, steps: int = 1) -> list[PairsReduced]:
    """What is told of a program that makes a loss of a column of six predictions."""
    torch.manual_seed(0)
    layer = nn.Linear(4, 1)
    with watching(Pairs) as run:
        optimizer = torch.optim.SGD(layer.parameters(), lr=0.0)
        for _ in range(steps):
            loss = program(layer(X))
            if loss.requires_grad:
                loss.backward()
            optimizer.step()
        return run.of(PairsReduced)


def _unsqueezed_before(c: torch.Tensor) -> torch.Tensor:
    flat = c.squeeze(1)
    column = flat.unsqueeze(1)
    return (column - ROW).abs().mean()


def _weighted_after_unsqueezing(c: torch.Tensor) -> torch.Tensor:
    flat = c.squeeze(1)
    column = flat.unsqueeze(1)
    return -(column * ROW).mean()


def _labels_unsqueezed_before(c: torch.Tensor) -> torch.Tensor:
    column = ROW.unsqueeze(1)
    return (c.squeeze() - column).abs().mean()


@pytest.mark.parametrize(
    ("program", "operation"),
    [
        (lambda c: functional.mse_loss(c, ROW), "mse_loss"),
        (lambda c: functional.l1_loss(c, ROW, reduction="none").mean(), "l1_loss"),
        (lambda c: functional.mse_loss(c, ROW[None]), "mse_loss"),
        (lambda c: ((c - ROW) ** 2).mean(), "sub"),
        (lambda c: ((ROW - c) ** 2).sum(1).mean(), "sub"),
        (lambda c: torch.norm(c - ROW), "norm of sub"),
        (lambda c: -(c.squeeze(1) * ROW[:, None].clone()).mean(), None),
        (_labels_unsqueezed_before, "sub"),
        (_weighted_after_unsqueezing, "mul"),
        (lambda c: functional.mse_loss(c, ROW + OTHER[:, None]), None),
        (lambda c: torch.minimum(c.exp() * ROW, c).mean(), "mul"),
    ],
)
@pytest.mark.filterwarnings("ignore:Using a target size")
def test_pairs_in_a_loss(program: Program, operation: str | None) -> None:
    told = pairs(program)
    if operation is None:
        assert told == []
        return
    (event,) = told
    assert event.operation == operation.rpartition(" ")[2]
    assert sorted([event.left.shape, event.right.shape], key=len)[-1] in ([6, 1], [1, 6])
    assert event.shape == [6, 6]
    assert event.backward is not None


def test_targets_that_were_paired_before_they_met_the_prediction() -> None:
    def program(c: torch.Tensor) -> torch.Tensor:
        column = OTHER.reshape(6, 1).clone()
        target = ROW + column
        return ((c - target) ** 2).mean()

    def on_purpose(c: torch.Tensor) -> torch.Tensor:
        column = OTHER.reshape(6, 1).clone()
        target = ROW + column
        return ((c @ torch.ones(1, 6) - target) ** 2).mean()

    (event,) = pairs(program)
    assert (event.operation, event.left.shape, event.right.shape) == ("add", [6], [6, 1])
    assert pairs(on_purpose) == []


@pytest.mark.parametrize(
    "program",
    [
        lambda c: functional.mse_loss(c.squeeze(1), ROW),
        lambda c: (c - c.T).abs().mean(),
        lambda c: (c - c.squeeze(1)).abs().mean(),
        lambda c: (c.squeeze(1)[:, None] - ROW).abs().mean(),
        _unsqueezed_before,
        lambda c: (c - ROW[None]).abs().mean(),
        lambda c: (c - torch.ones(3)).abs().mean(),
        lambda c: ((c - ROW) @ torch.ones(6)).mean(),
        lambda c: (c - ROW).abs().min(1).values.mean(),
        lambda c: (c - ROW).abs().max(),
        lambda c: ((c * ROW - torch.ones(6, 6)) ** 2).mean(),
        lambda c: c.mean() + (c.detach() - ROW).mean().detach() * 0 if False else c.mean(),
    ],
    ids=[
        *("one shape", "across", "with itself", "put in on the line", "put in before", "as many dimensions"),
        *("other numbers", "a matrix product", "the nearest", "the largest", "a matrix of its own", "no pairs"),
    ],
)
def test_what_was_meant(program: Program) -> None:
    assert pairs(program) == []


@pytest.mark.parametrize(
    ("program", "even"),
    [
        (lambda c: (c + ROW).mean(), True),
        (lambda c: (1.0 - 2 * (ROW - c) / 3 + OTHER).mean(1).mean(), True),
        (lambda c: -((c + ROW) - (c - OTHER)).mean(), True),
        (lambda c: (c + ROW).sum(), False),
        (lambda c: (c - ROW).mean(1).square().mean(), False),
        (lambda c: ((c + ROW) * torch.ones(6)).mean(), False),
        (lambda c: ((c + ROW) * (c - OTHER)).mean(), False),
        (lambda c: ((c + ROW) - (c * OTHER)).mean(), False),
        (lambda c: (c * ROW).mean(), False),
        (lambda c: torch.norm(c + ROW), False),
    ],
)
def test_sums_that_are_averaged(program: Program, even: bool) -> None:
    assert [event.even for event in pairs(program)][:1] == [even]


def test_comparisons_that_are_counted() -> None:
    def counted(c: torch.Tensor) -> torch.Tensor:
        ((c > 0).float() == ROW).float().mean()
        return c.sum()

    def masked(c: torch.Tensor) -> torch.Tensor:
        mask = (c > 0).float() == ROW
        return (mask * torch.ones(6, 6)).sum() + c.sum()

    (event,) = pairs(counted)
    assert (event.operation, event.backward, event.shape) == ("__eq__", None, [6, 6])
    assert pairs(masked) == []


def test_labels_compared_with_labels_are_no_metric() -> None:
    """Whichever pairs of what was there before belong together, nothing was predicted."""
    names = torch.arange(6).reshape(6, 1)

    def belong(c: torch.Tensor) -> torch.Tensor:
        return (names == torch.arange(6)).gather(1, c.detach().argsort(0)).float().mean() + c.sum() * 0

    assert pairs(belong) == []
    (event,) = pairs(lambda c: (c.detach().argsort(0) == torch.arange(6)).float().mean())
    assert event.backward is None


def test_errors_that_are_shown() -> None:
    def shown(c: torch.Tensor) -> torch.Tensor:
        (c.detach() - ROW).abs().mean()
        return c.sum()

    def of_data(c: torch.Tensor) -> torch.Tensor:
        (X[:, :1] - ROW).abs().mean()
        return c.sum()

    (event,) = pairs(shown)
    assert (event.operation, event.backward) == ("sub", None)
    assert pairs(of_data) == []


def test_each_line_is_told_of_a_few_times() -> None:
    assert len(pairs(lambda c: ((c - ROW) ** 2).mean(), steps=9)) == 4


@pytest.mark.parametrize(
    ("program", "chose"),
    [
        pytest.param(lambda c, same: (torch.cdist(c, c) * same).sum() / same.sum(), 1, id="a product"),
        pytest.param(lambda c, same: torch.where(same, torch.cdist(c, c), 0.0).mean(), 1, id="where"),
        pytest.param(lambda c, same: torch.cdist(c, c)[same].mean(), 1, id="an index"),
        pytest.param(lambda c, same: c.mean() * (same * OTHER).sum(), 0, id="weights of labels"),
        pytest.param(lambda c, same: c.mean() * same.float().mean(), 0, id="a share"),
    ],
)
def test_pairs_that_choose_among_as_many_values(
    program: Callable[[torch.Tensor, torch.Tensor], torch.Tensor], chose: int
) -> None:
    layer, column = nn.Linear(4, 1), ROW[:, None].clone()
    with watching(Pairs) as run:
        optimizer = torch.optim.SGD(layer.parameters(), lr=0.0)
        for _ in range(2):
            program(layer(X), column == ROW).backward()
            optimizer.step()
    assert len(run.of(PairsMeant)) == chose


@pytest.mark.parametrize(
    ("within", "meant"),
    [
        pytest.param(lambda c, row: torch.pdist(c).mean(), 1, id="of the predictions"),
        pytest.param(lambda c, row: torch.cdist(row[:, None], row[:, None]).mean(), 1, id="of the data"),
        pytest.param(lambda c, row: (c - c.T).abs().mean(), 1, id="by hand"),
        pytest.param(lambda c, row: torch.cdist(c, row[:, None]).mean(), 0, id="of both"),
        pytest.param(lambda c, row: torch.pdist(OTHER[:, None]).mean(), 0, id="of something else"),
    ],
)
@pytest.mark.parametrize("first", [False, True])
def test_a_distance_between_samples_is_meant(
    within: Callable[[torch.Tensor, torch.Tensor], torch.Tensor], meant: int, *, first: bool
) -> None:
    layer = nn.Linear(4, 1)
    with watching(Pairs) as run:
        optimizer = torch.optim.SGD(layer.parameters(), lr=0.0)
        for _ in range(2):
            layer(X).sum().backward()
            optimizer.step()
            with torch.no_grad():
                column = layer(X)
                itself = within(column, ROW) if first else 0
                (2 * (column - ROW).abs().mean() - itself - (0 if first else within(column, ROW))).item()
    assert len(run.of(PairsMeant)) == meant
    assert run.of(PairsReduced)
