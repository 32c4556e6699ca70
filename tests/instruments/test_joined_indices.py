"""Indices of several samples that are joined as they are."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from autograd_doctor.events.data import IndicesJoined
from autograd_doctor.instruments.data.joined_indices import JoinedIndices
from tests.watching import watching

SIZES = [4, 7, 5, 6]
ROWS = [torch.randn(size, 3) for size in SIZES]
INDICES = [torch.arange(size).flip(0) for size in SIZES]
BEFORE = [0, 4, 11, 16]


def told(program: Callable[[], object]) -> list[IndicesJoined]:
    with watching(JoinedIndices) as recorded:
        program()
    return list(recorded.of(IndicesJoined))


def pick(rows: Tensor) -> Tensor:
    return rows[torch.cat(INDICES)]


@pytest.mark.parametrize(
    "program",
    [
        lambda: pick(torch.cat(ROWS)),
        lambda: pick(nn.Linear(3, 2)(torch.cat(ROWS)).relu()),
        lambda: torch.vstack(ROWS)[torch.hstack(INDICES)],
        lambda: torch.cat(ROWS).index_select(0, torch.cat(INDICES)),
        lambda: torch.cat(ROWS)[torch.cat([torch.stack([each, each]) for each in INDICES], 1).long()[1]],
        lambda: torch.cat(ROWS)[torch.cat([each[:, None].repeat(1, 3) for each in INDICES])],
        lambda: torch.cat(ROWS)[torch.cat([*INDICES[:2], INDICES[2][:0], INDICES[3]])],
    ],
    ids=["rows", "computed of them", "stacked", "selected", "edges", "faces", "none of one sample"],
)
def test_indices_that_nobody_has_moved(program: Callable[[], object]) -> None:
    (event,) = told(program)
    assert (event.batches, event.others_moved) == (1, False)
    assert (event.parts, event.rows, event.reach) in [(3, 18, 18), (2, 13, 13)]


@pytest.mark.parametrize(
    "program",
    [
        lambda: torch.cat(ROWS)[torch.cat([each + before for each, before in zip(INDICES, BEFORE, strict=True)])],
        lambda: pick(torch.randn(22, 3)),
        lambda: pick(torch.cat(ROWS[::-1])),
        lambda: torch.cat(ROWS)[torch.cat(INDICES) + 0],
        lambda: torch.cat(ROWS)[torch.cat([torch.randint(0, 22, (size,)) for size in SIZES]).clamp(min=21)],
        lambda: torch.cat(ROWS)[torch.cat(INDICES[:2])],
        lambda: torch.cat([each.T for each in ROWS], 1)[torch.cat([each % 3 for each in INDICES])],
        lambda: torch.cat(ROWS)[torch.cat([each > 2 for each in INDICES])],
    ],
    ids=[
        "moved",
        "rows of no samples",
        "of other samples",
        "counted anew",
        "of all rows",
        "of some samples",
        "rows side by side",
        "masks",
    ],
)
def test_indices_that_are_fine(program: Callable[[], object]) -> None:
    assert told(program) == []


def test_one_batch_with_indices_of_all_rows_speaks_for_its_line() -> None:
    def program() -> None:
        for moved in (0, 0, 1):
            indices = torch.cat([each + moved * before for each, before in zip(INDICES, BEFORE, strict=True)])
            torch.cat(ROWS)[indices]

    assert told(program) == []


def test_a_program_that_moves_others_may_mean_the_first_sample() -> None:
    def program() -> None:
        rows = torch.cat(ROWS)
        rows[torch.cat([each + before for each, before in zip(INDICES, BEFORE, strict=True)])]
        rows[torch.cat(INDICES)]

    (event,) = told(program)
    assert event.others_moved
