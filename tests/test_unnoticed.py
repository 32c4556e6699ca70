"""Running the program's own code once more without a mark."""

from __future__ import annotations

import random
import sys
import warnings

import numpy
import pytest
import torch

from autograd_doctor.reading.unnoticed import unnoticed


def draw() -> list[float]:
    return [random.random(), float(numpy.random.rand()), float(torch.rand(()))]


def seed() -> None:
    random.seed(0)
    numpy.random.seed(0)
    torch.manual_seed(0)


def test_random_numbers_go_on_as_if_nothing_had_been_drawn() -> None:
    seed()
    expected = draw()
    seed()
    with unnoticed():
        draw()
    assert draw() == expected


def test_random_numbers_go_on_after_a_failure() -> None:
    seed()
    expected = draw()
    seed()
    with pytest.raises(ZeroDivisionError), unnoticed():
        draw()[1 // 0]
    assert draw() == expected


def test_output_and_warnings_are_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with unnoticed():
            print("printed")
            print("an error", file=sys.stderr)
            warnings.warn("a warning", stacklevel=1)
    assert capsys.readouterr() == ("", "")


def test_gradients_are_on_inside_and_as_before_afterwards() -> None:
    with torch.no_grad():
        with unnoticed():
            assert torch.is_grad_enabled()
        assert not torch.is_grad_enabled()


def test_a_program_without_numpy_is_left_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "numpy")
    with unnoticed():
        pass
    assert "numpy" not in sys.modules
