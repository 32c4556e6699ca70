"""Which of some files is the newest, and which is the last by name as text."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograd_doctor.reading.file_order import PassedOver, passed_over


def written(folder: Path, names: Sequence[str]) -> None:
    """One after the other."""
    for second, name in enumerate(names):
        (folder / name).touch()
        os.utime(folder / name, (second, second))


@pytest.mark.parametrize(
    ("names", "read", "newest"),
    [
        (["e8.pt", "e9.pt", "e10.pt"], "e9.pt", "e10.pt"),
        (["e8.pt", "e9.pt", "e10.pt", "best.pt"], "e9.pt", "e10.pt"),
        (["e8.pt", "e9.pt", "e10.pt"], "e8.pt", None),
        (["e8.pt", "e9.pt", "e10.pt"], "e10.pt", None),
        (["e9.pt", "e10.pt"], "e9.pt", None),
        (["e08.pt", "e09.pt", "e10.pt"], "e09.pt", None),
        (["e10.pt", "e8.pt", "e9.pt"], "e9.pt", None),
        (["e1-s90.pt", "e1-s100.pt", "e2-s110.pt"], "e2-s110.pt", None),
        (["e1-s80.pt", "e1-s90.pt", "e1-s100.pt"], "e1-s90.pt", "e1-s100.pt"),
    ],
)
def test_the_newest_file_that_was_passed_over(names: list[str], read: str, newest: str | None, tmp_path: Path) -> None:
    written(tmp_path, names)
    found = passed_over(str(tmp_path / read))
    alike = sum(name != "best.pt" for name in names)
    assert found == (None if newest is None else PassedOver(newest, alike))


@given(st.lists(st.integers(0, 10**6), min_size=3, max_size=12, unique=True).map(sorted))
def test_numbers_of_one_length_are_in_order(numbers: list[int]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        names = [f"step{number:07}.pt" for number in numbers]
        written(Path(folder), names)
        assert passed_over(os.path.join(folder, max(names))) is None


def test_a_folder_that_has_gone(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="gone"):
        passed_over(str(tmp_path / "gone" / "e9.pt"))
