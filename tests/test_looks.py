"""How often each line is looked at."""

from __future__ import annotations

import pytest

from autograd_doctor.reading.looks import Looks


def test_a_few_times_in_a_step() -> None:
    looks: Looks[str] = Looks()
    assert [looks.take("here") for _ in range(6)] == [True] * 4 + [False] * 2
    assert looks.take("there")
    looks.step_taken()
    assert looks.take("here")


def test_until_it_was_told_of_a_few_times() -> None:
    looks: Looks[str] = Looks()
    for _ in range(4):
        assert looks.take("here")
        looks.told("here")
        looks.step_taken()
    assert not looks.take("here")
    assert looks.take("there")


def test_only_so_many_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autograd_doctor.reading.looks._MOST_SITES", 2)
    looks: Looks[int] = Looks()
    assert [looks.take(site) for site in (1, 2, 3, 1)] == [True, True, False, True]
