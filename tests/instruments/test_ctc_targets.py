"""Targets of a CTC loss that hold its blank, or are too long."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn.functional import ctc_loss

from autograd_doctor.events.errors import BlankTargets, TargetsTooLong
from autograd_doctor.instruments.errors.ctc_targets import CtcTargets
from tests.watching import watching

ROWS = torch.tensor([[1, 2, 0], [3, 0, 0], [1, 1, 2]])


def told(targets: torch.Tensor, lengths: Any, *, graph: bool = True, times: int = 1, **more: Any) -> list[Any]:
    """CtcTargets, labels and samples with a blank of each event."""
    scores = torch.randn(9, len(lengths), 5, requires_grad=graph)
    with watching(CtcTargets) as recorded:
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


def lacking(targets: list[list[int]], places: list[int], *, zero_infinity: bool = True) -> list[tuple[int, int, int]]:
    """Samples, those that are too long, and the places that the worst lacks, of each event."""
    lengths = [len(labels) for labels in targets]
    scores = torch.randn(max(places), len(targets), 5, requires_grad=True).log_softmax(2)
    with watching(CtcTargets) as recorded:
        ctc_loss(scores, torch.cat([*map(torch.tensor, targets)]), places, lengths, zero_infinity=zero_infinity)
    return [(event.samples, event.too_long, event.most_lacking) for event in recorded.of(TargetsTooLong)]


def test_labels_need_a_place_each_and_one_more_between_two_that_are_the_same() -> None:
    assert lacking([[1, 2, 3], [1, 1, 1], [4, 4]], [3, 5, 3]) == [(3, 0, 0)]
    assert lacking([[1, 2, 3], [1, 1, 1], [4, 4]], [3, 3, 2]) == [(3, 2, 2)]


def test_an_infinite_loss_is_left_to_those_who_look_for_such() -> None:
    assert lacking([[1, 1, 1]], [3], zero_infinity=False) == []
