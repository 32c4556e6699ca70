"""Pictures that are found again however they are turned over."""

from __future__ import annotations

import pytest
import torch

from autograd_doctor.reading.turns import is_of_pictures, turn_from, turned_keys


@pytest.mark.parametrize("shape", [(3, 6, 8), (3, 2, 6, 8), (2, 1, 70, 90)])
@pytest.mark.parametrize(("axes", "turn"), [((), 0), ((-1,), 1), ((-2,), 2), ((-2, -1), 3)])
def test_each_way_in_which_pictures_are_turned(shape: tuple[int, ...], axes: tuple[int, ...], turn: int) -> None:
    pictures = torch.rand(shape)
    before = [keys[0] for keys in turned_keys(pictures)]
    turned = turned_keys(pictures.flip(axes))
    assert [turn_from(*both) for both in zip(before, turned, strict=True)] == [turn] * shape[0]


def test_other_pictures_and_those_that_look_alike_from_both_sides() -> None:
    (keys,) = turned_keys(torch.rand(1, 4, 4))
    (other,) = turned_keys(torch.rand(1, 4, 4))
    (even,) = turned_keys(torch.ones(1, 4, 4))
    assert turn_from(keys[0], other) is None
    assert turn_from(even[0], even) is None


def test_what_may_hold_pictures() -> None:
    assert is_of_pictures(torch.rand(2, 4, 4))
    assert is_of_pictures(torch.rand(2, 3, 4, 4))
    assert not is_of_pictures(torch.rand(2, 4))
    assert not is_of_pictures(torch.rand(2, 5, 3))
