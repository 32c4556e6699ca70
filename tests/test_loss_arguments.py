"""Which arguments of a loss are what."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from autograd_doctor.reading.loss_arguments import is_in_order, operands_of, picked_classes, usual_class_dim
from autograd_doctor.reading.operand_values import NOTHING, values_of

SCORES, LABELS = torch.arange(12.0).reshape(4, 3), torch.tensor([0, 2, 1, 1])
ROWS = torch.arange(4)


def about(values: torch.Tensor, low: float, high: float) -> tuple[float, float]:
    seen = values_of(values, bounds=(low, high))
    return seen.mirrored, seen.reach


def test_how_values_lie_about_a_bound() -> None:
    noise = torch.linspace(-0.1, 0.1, 200)
    signal = torch.full((100,), 2.0)
    mirrored, reach = about(torch.cat([noise, signal]), 0.0, torch.inf)
    assert mirrored == 1.0
    assert reach > 10
    assert about(1 - torch.cat([noise, signal]), -torch.inf, 1.0) == pytest.approx((mirrored, reach))
    assert about(noise, 0.0, torch.inf) == pytest.approx((1.0, 1.0))
    skewed = torch.linspace(0.005, 0.995, 100).logit().exp()
    assert about(skewed - skewed.mean(), 0.0, torch.inf)[0] < 0.5
    assert about(signal, 0.0, torch.inf) == (0.0, 0.0)
    assert about(noise, 0.0, 1.0) == (0.0, 0.0)


def test_operands_by_position_and_by_name() -> None:
    found = [operands_of((SCORES, LABELS), {}), operands_of((SCORES,), {"target": LABELS})]
    found.append(operands_of((), {"input": SCORES, "target": LABELS}))
    for operands in found:
        assert operands is not None
        assert operands[0] is SCORES
        assert operands[1] is LABELS
    assert operands_of((SCORES,), {}) is None


@pytest.mark.parametrize(
    ("name", "shape", "dim"),
    [("cross_entropy", (4, 3, 5), 1), ("nll_loss", (3,), 0), ("kl_div", (4, 3, 5), 2), ("mse_loss", (), None)],
)
def test_the_dimension_of_the_classes(name: str, shape: tuple[int, ...], dim: int | None) -> None:
    assert usual_class_dim(name, torch.zeros(shape)) == dim


@pytest.mark.parametrize(
    ("name", "args", "dim"),
    [
        ("__getitem__", (SCORES, (ROWS, LABELS)), 1),
        ("__getitem__", (SCORES, LABELS), None),
        ("__getitem__", (SCORES, (slice(None), LABELS)), None),
        ("__getitem__", (SCORES, (SCORES[:, 0] > 1, LABELS)), None),
        ("gather", (SCORES, -1, LABELS[:, None]), 1),
        ("gather", (SCORES, 0, LABELS[None]), 0),
        ("take_along_dim", (SCORES, LABELS[:, None], 1), 1),
        ("take_along_dim", (SCORES, LABELS), None),
    ],
)
def test_picks(name: str, args: tuple[Any, ...], dim: int | None) -> None:
    picked = picked_classes(name, args, {})
    assert (None if picked is None else picked[0]) == dim
    if picked is not None:
        assert torch.equal(picked[1].flatten(), LABELS)


def test_picks_by_name() -> None:
    picked = picked_classes("gather", (SCORES,), {"dim": 1, "index": LABELS[:, None]})
    assert picked is not None
    assert picked[0] == 1


def test_rows_in_order() -> None:
    assert is_in_order(ROWS)
    assert is_in_order(ROWS[:, None])
    assert not is_in_order(LABELS)
    assert not is_in_order(torch.zeros(2, 2, dtype=torch.long))


def test_values() -> None:
    seen = values_of(torch.tensor([[0.0, 1.0], [1.0, 1.0]]), class_dim=1, over=0, bounds=(0.5, 1.0))
    assert (seen.low, seen.high, seen.binary, seen.outside) == (0.0, 1.0, True, 0.25)
    assert (seen.sums, seen.sums_over) == ((1.0, 2.0), (1.0, 2.0))
    assert seen.log_sums == pytest.approx((1.3133, 1.6931), abs=1e-3)


def test_values_of_whole_numbers_have_a_range_only() -> None:
    seen = values_of(LABELS, class_dim=0)
    assert (seen.low, seen.high, seen.sums, seen.binary) == (0, 2, (), False)


def test_what_cannot_be_read_has_no_values() -> None:
    assert values_of(torch.zeros(0, 3)) == NOTHING
    assert values_of(torch.zeros(2, device="meta")) == NOTHING


def test_of_large_operands_the_first_rows_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autograd_doctor.reading.operand_values._MOST_VALUES", 6)
    assert values_of(SCORES).high == 5.0
    assert values_of(SCORES, over=0).high == 11.0
