"""Rows of one output: which of them a loss and evaluations choose, in whatever way they are chosen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from torch import nn

from autograd_doctor.events.data import OutputRowsCompared
from autograd_doctor.instruments.data.output_rows import OutputRows
from autograd_doctor.reading.chosen_rows import Chosen, chosen_by
from tests.watching import watching

ROWS = 20
Rows = torch.Tensor
Compare = Callable[[torch.Tensor, torch.Tensor, Rows], torch.Tensor]


def by_index(out: torch.Tensor, y: torch.Tensor, rows: Rows) -> torch.Tensor:
    return nn.functional.mse_loss(out[rows], y[rows])


def mask_of(rows: Rows) -> torch.Tensor:
    mask = torch.zeros(ROWS, dtype=torch.bool)
    mask[rows] = True
    return mask


def by_mask(out: torch.Tensor, y: torch.Tensor, rows: Rows) -> torch.Tensor:
    return (out - y)[mask_of(rows)].pow(2).mean()


def by_selection(out: torch.Tensor, y: torch.Tensor, rows: Rows) -> torch.Tensor:
    return (out.index_select(0, rows) - y.index_select(0, rows)).abs().sum()


def by_slice(out: torch.Tensor, y: torch.Tensor, rows: Rows) -> torch.Tensor:
    part = slice(int(rows[0]), int(rows[-1]) + 1)
    return nn.functional.l1_loss(out[part], y[part])


def by_weights(out: torch.Tensor, y: torch.Tensor, rows: Rows) -> torch.Tensor:
    return (nn.functional.mse_loss(out, y, reduction="none") * mask_of(rows).float()).sum()


def by_masked_select(out: torch.Tensor, y: torch.Tensor, rows: Rows) -> torch.Tensor:
    mask = mask_of(rows)
    return (out.masked_select(mask) - y.float().masked_select(mask)).square().mean()


def in_turn(out: torch.Tensor, y: torch.Tensor, rows: Rows) -> torch.Tensor:
    first = int(rows[0])
    return nn.functional.mse_loss(out[first:][rows - first], y[first:][rows - first])


WAYS = [by_index, by_mask, by_selection, by_slice, by_weights, by_masked_select, in_turn]


def told(
    train: Compare,
    evaluate: Compare,
    *,
    trained: Sequence[Rows] = (torch.arange(12),),
    evaluated: Sequence[Rows] = (torch.arange(10, 18),),
    inputs: Callable[[torch.Tensor], torch.Tensor] = lambda x: x,
    target: Callable[[torch.Tensor, torch.Tensor], torch.Tensor] = lambda x, y: y,
) -> list[tuple[int, int, int]]:
    """How many rows were trained on, evaluated, and both."""
    x, y = torch.rand(ROWS, 3), torch.rand(ROWS)
    with watching(OutputRows) as run:
        model = nn.Linear(3, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(3):
            loss = train(model(x).squeeze(1), target(x, y), trained[step % len(trained)])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            with torch.no_grad():
                for rows in evaluated:
                    evaluate(model(inputs(x)).squeeze(1), target(x, y), rows).item()
        run.find(OutputRows).finish()
        return [(event.trained, event.evaluated, event.shared) for event in run.of(OutputRowsCompared)]


@pytest.mark.parametrize("way", WAYS)
def test_rows_are_known_however_they_are_chosen(way: Compare) -> None:
    assert told(by_index, way if way is not by_slice else by_index) == [(12, 8, 2)]
    assert told(way, by_index) == [(12, 8, 2)]


def test_a_range_is_held_out_of_a_range_alone() -> None:
    assert told(by_slice, by_slice) == [(12, 8, 2)]
    assert told(by_index, by_slice) == []


def test_of_a_loss_of_all_rows() -> None:
    assert told(lambda out, y, rows: nn.functional.mse_loss(out, y), by_index) == [(20, 8, 8)]
    assert told(by_index, lambda out, y, rows: nn.functional.mse_loss(out, y)) == []


@pytest.mark.parametrize(
    "facts",
    [
        {"trained": (torch.arange(12), torch.arange(6))},
        {"inputs": lambda x: x + 0.1},
        {"target": lambda x, y: y + x.sum(1)},
        {"target": lambda x, y: x[:, 0]},
    ],
    ids=["rows change", "other inputs", "new targets each time", "what the model is given"],
)
def test_what_is_not_compared(facts: dict[str, Any]) -> None:
    assert told(by_index, by_index, **facts) == []


def test_other_sets_tell_what_is_held_out() -> None:
    x, y, sets = torch.rand(ROWS, 3), torch.rand(ROWS), [torch.arange(8, 14), torch.arange(14, 20)]
    with watching(OutputRows) as run:
        model = nn.Linear(3, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        by_index(model(x).squeeze(1), y, torch.arange(10)).backward()
        optimizer.step()
        with torch.no_grad():
            found = model(x).squeeze(1)
            for rows in sets:
                by_index(found, y, rows)
            by_index(found, y, (y > y.median()).nonzero().squeeze(1))
        run.find(OutputRows).finish()
        mixed, apart = run.of(OutputRowsCompared)
    assert (mixed.shared, mixed.held_out, apart.shared, apart.held_out) == (2, 6, 0, 0)
    assert mixed.covered > 12, "rows that were chosen by their values count as others"


def test_what_a_parameter_chose_is_not_known() -> None:
    def sure_ones(out: torch.Tensor, y: torch.Tensor, rows: Rows) -> torch.Tensor:
        rows = out.detach().argsort()[:6]
        return nn.functional.mse_loss(out[rows], y[rows])

    assert told(sure_ones, by_index) == []
    both = lambda out, y, rows: by_index(out, y, rows) + sure_ones(out, y, rows)  # noqa: E731
    assert told(both, by_index) == []


def test_a_gradient_that_is_asked_for_teaches_nothing() -> None:
    x, y = torch.rand(ROWS, 3), torch.rand(ROWS)
    with watching(OutputRows) as run:
        model = nn.Linear(3, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            by_index(model(x).squeeze(1), y, torch.arange(12)).backward()
            optimizer.step()
            torch.autograd.grad(by_index(model(x).squeeze(1), y, torch.arange(10, 20)), list(model.parameters()))
            by_index(model(x).squeeze(1), y, torch.arange(11, 20))
        run.find(OutputRows).finish()
        (event,) = run.of(OutputRowsCompared)
    assert (event.trained, event.evaluated, event.shared) == (12, 9, 1)


def test_numpy_compares_rows_as_well() -> None:
    def left(out: torch.Tensor, y: torch.Tensor, rows: Rows) -> torch.Tensor:
        return torch.tensor(float((out[rows].numpy() - y[rows].numpy()).mean()))

    def as_a_whole(out: torch.Tensor, y: torch.Tensor, rows: Rows) -> torch.Tensor:
        out.numpy()
        return by_index(out, y, rows)

    assert told(by_index, left) == [(12, 8, 2)]
    assert told(by_index, as_a_whole) == []


def test_parts_of_an_order_drawn_at_random() -> None:
    x, y = torch.rand(ROWS, 3), torch.rand(ROWS)
    for cut_twice in (True, False):
        with watching(OutputRows) as run:
            order = torch.randperm(ROWS)
            rows = order[12:]
            others = order[:12] if cut_twice else rows
            model = nn.Linear(3, 1)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            nn.functional.mse_loss(model(x).squeeze(1), y).backward()
            optimizer.step()
            with torch.no_grad():
                by_index(model(x).squeeze(1), y, rows)
            assert len(others)
            run.find(OutputRows).finish()
            (event,) = run.of(OutputRowsCompared)
        assert event.is_part is cut_twice


@pytest.mark.parametrize(
    ("index", "space", "order"),
    [
        (slice(2, 4), (5,), (2, 3)),
        (slice(None, None, 2), (5,), (0, 2, 4)),
        ([4, -5], (5,), (4, 0)),
        (torch.tensor([3, -1]), (5,), (3, 4)),
        (torch.tensor([True, False, False, True, False]), (5,), (0, 3)),
        ((torch.tensor([0, -1]), torch.tensor([2, 1])), (5, 3), (2, 13)),
        (torch.eye(5, 3, dtype=torch.bool), (5, 3), (0, 4, 8)),
    ],
)
def test_what_an_index_chooses(index: Any, space: tuple[int, ...], order: tuple[int, ...]) -> None:
    chosen = chosen_by(index, (5, 3))
    assert chosen is not None
    assert (chosen.space, chosen.order) == (space, order)


def test_all_rows_are_no_choice_and_some_of_those_chosen_are() -> None:
    assert chosen_by(slice(None), (5, 3)) is None
    assert chosen_by(torch.arange(5), (5, 3)) is None
    chosen, inner = Chosen.of((5,), [4, 2, 0]), Chosen.of((3,), [2, 1])
    assert chosen is not None
    assert inner is not None
    among = chosen.among(inner)
    assert among is not None
    assert among.order == (0, 2)
    for index in (torch.rand(5), None, (1, 2), torch.zeros(4, dtype=torch.bool), "rows"):
        with pytest.raises(ValueError, match="no rows"):
            chosen_by(index, (5, 3))
