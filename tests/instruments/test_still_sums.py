"""Numbers that are counted up in a tensor, and stand still."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from autograd_doctor.events.numerics import SumStoodStill
from autograd_doctor.instruments.numerics.still_sums import StillSums
from tests.watching import watching

BF16 = torch.bfloat16


def told(count: Callable[[Any], Any], start: Any, times: int = 3) -> list[tuple[str, float, float]]:
    """What is told of a line that counts on, again and again."""
    with watching(StillSums) as recorded:
        calls = start
        for _ in range(times):
            calls = count(calls)
    return [(event.dtype, event.value, event.added) for event in recorded.of(SumStoodStill)]


def in_place(calls: torch.Tensor) -> torch.Tensor:
    calls += 1
    return calls


@pytest.mark.parametrize(
    "count",
    [lambda calls: calls + 1, in_place, lambda calls: calls.add_(1), lambda calls: calls + torch.ones((), dtype=BF16)],
)
def test_a_sum_to_which_nothing_is_added_any_more_is_told_once_in_a_step(
    count: Callable[[torch.Tensor], torch.Tensor],
) -> None:
    assert told(count, torch.tensor(256.0, dtype=BF16)) == [("bfloat16", 256.0, 1.0)]


def test_an_average_that_has_converged_does_not_stand_still_by_rounding() -> None:
    def towards_a_third(average: torch.Tensor) -> torch.Tensor:
        return average.add_(0.05 * (1 / 3 - average))

    assert told(towards_a_third, torch.zeros(()), times=600) == []


@pytest.mark.parametrize(
    ("count", "start"),
    [
        (lambda calls: calls + 1, torch.tensor(200.0, dtype=BF16)),
        (lambda calls: calls + 0.0, torch.tensor(256.0, dtype=BF16)),
        (lambda calls: calls + 1, torch.tensor(2**25)),
        (lambda calls: calls + 0, torch.tensor(256)),
        (lambda calls: calls + 1, torch.tensor(float("inf"))),
        (lambda calls: calls + float("inf"), torch.tensor(float("inf"))),
        (lambda calls: calls + 1, torch.full((2,), 256.0, dtype=BF16)),
        (lambda calls: calls + 1, torch.tensor(256.0, dtype=BF16, requires_grad=True)),
        (lambda calls: (calls + 1) * 1, torch.tensor(256.0, dtype=BF16)),
        (lambda calls: torch.ones_like(calls) + 512.0, torch.tensor(0.0, dtype=BF16)),
    ],
    ids=[
        "counts",
        "nothing",
        "whole",
        "whole and nothing",
        "inf",
        "inf added",
        "several",
        "learned",
        "of copies",
        "of others",
    ],
)
def test_other_sums(count: Callable[[torch.Tensor], torch.Tensor], start: torch.Tensor) -> None:
    assert told(count, start) == []
