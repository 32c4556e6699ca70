"""Targets of a CTC loss that hold its blank."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn.functional import ctc_loss

from autograd_doctor.events.errors import BlankTargets
from autograd_doctor.instruments.errors.ctc_blanks import CtcBlanks
from tests.watching import watching

ROWS = torch.tensor([[1, 2, 0], [3, 0, 0], [1, 1, 2]])


def told(targets: torch.Tensor, lengths: Any, *, graph: bool = True, times: int = 1, **more: Any) -> list[Any]:
    """CtcBlanks, labels and samples with a blank of each event."""
    scores = torch.randn(9, len(lengths), 5, requires_grad=graph)
    with watching(CtcBlanks) as recorded:
        for _ in range(times):
            ctc_loss(scores.log_softmax(2), targets, torch.full((len(lengths),), 9), torch.as_tensor(lengths), **more)
    return [(event.blanks, event.labels, event.samples) for event in recorded.of(BlankTargets)]


@pytest.mark.parametrize(
    ("targets", "lengths", "more", "expected"),
    [
        (ROWS, [3, 2, 3], {}, (2, 8, 2)),
        (ROWS, [3, 3, 3], {}, (3, 9, 2)),
        (torch.tensor([1, 2, 0, 3, 0]), [3, 2], {}, (2, 5, 2)),
        (ROWS, [2, 1, 3], {"blank": 2}, (2, 6, 2)),
    ],
    ids=["rows", "full rows", "one after the other", "another blank"],
)
def test_blanks_within_the_lengths(targets: torch.Tensor, lengths: list[int], more: Any, expected: Any) -> None:
    assert told(targets, lengths, **more) == [expected]


def test_blanks_that_fill_rows_up() -> None:
    assert told(ROWS, [2, 1, 3]) == []
    assert told(ROWS, [3, 3, 3], blank=4) == []


def test_a_loss_that_teaches_nothing_is_left_alone_and_others_are_told_a_few_times() -> None:
    assert told(ROWS, [3, 3, 3], graph=False) == []
    assert len(told(ROWS, [3, 3, 3], times=6)) == 4
