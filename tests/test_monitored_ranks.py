"""Runs of several ranks that were monitored: what each has left, and what is said of all of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograd_doctor import recording
from autograd_doctor.events.run import CloseLookEnded, LightStepsCounted
from autograd_doctor.monitoring.chapters import as_if_left, closely
from autograd_doctor.monitoring.folder import About, rank_folder, rank_folders
from autograd_doctor.plan import Target
from autograd_doctor.trace import Trace


def about(rank: int, size: int) -> About:
    return About(
        tool="0", target=Target("block", "train.py:3"), process=1, host="here", cwd="/", began=1.0, rank=rank, size=size
    )


def begin(path: Path, size: int) -> None:
    for rank in range(size):
        rank_folder(path, rank).begin(about(rank, size))


def ranks(path: Path) -> list[int]:
    return [found.rank for folder in rank_folders(path) if (found := folder.about()) is not None]


def test_what_an_earlier_run_has_left_is_put_aside_together(tmp_path: Path) -> None:
    for _ in range(3):
        begin(tmp_path, 2)
    assert ranks(tmp_path) == ranks(tmp_path / "earlier" / "1") == ranks(tmp_path / "earlier" / "2") == [0, 1]


def test_ranks_that_a_later_run_lacks_are_none_of_its_own(tmp_path: Path) -> None:
    begin(tmp_path, 12)
    begin(tmp_path, 2)
    assert ranks(tmp_path) == [0, 1]
    assert ranks(tmp_path / "earlier" / "1") == list(range(12))


@pytest.mark.parametrize("rank", [0, 1])
def test_what_is_recorded_so_far_ends_for_the_rank_that_recorded_it(rank: int) -> None:
    events = (
        CloseLookEnded(sequence=1, rank=rank, step=40),
        LightStepsCounted(sequence=2, rank=rank, step=50, first=41, steps=10),
    )
    for trace in (as_if_left(Trace(events)), closely(Trace(events))):
        assert not [lack for lack in recording.missing(trace) if "the end of the run" in lack]
