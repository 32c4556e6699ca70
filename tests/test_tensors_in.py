"""The tensors in arguments and results, as deep as is asked for."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from autograd_doctor.reading.tensors_in import EVERYTHING, tensors_in

ONE, TWO = torch.ones(1), nn.Parameter(torch.ones(1))


class Holds:
    tensor = ONE


@pytest.mark.parametrize(
    ("value", "nesting"),
    [
        (ONE, 0),
        ([ONE], 1),
        ((ONE,), 1),
        ({"a": ONE}, 1),
        ([[ONE]], 2),
        (SimpleNamespace(a=ONE), 2),
        ([SimpleNamespace(a={"b": ONE})], 3),
    ],
)
def test_tensors_are_found_at_their_depth_and_not_above(value: Any, nesting: int) -> None:
    assert [found is ONE for found in tensors_in([value], nesting)] == [True]
    assert nesting == 0 or tensors_in([value], nesting - 1) == []


def test_one_level_is_looked_into_by_default() -> None:
    assert len(tensors_in([ONE, [TWO], [[ONE]]])) == 2


def test_what_a_result_is_may_be_nested_a_few_times() -> None:
    assert len(tensors_in([[[[[ONE]]]]], EVERYTHING)) == 1
    assert tensors_in([[[[[[ONE]]]]]], EVERYTHING) == []


def test_the_order_is_kept() -> None:
    assert [id(found) for found in tensors_in([TWO, [ONE, TWO], ONE])] == [id(each) for each in (TWO, ONE, TWO, ONE)]


def test_a_module_or_a_class_is_no_container() -> None:
    module = nn.Module()
    module.kept = ONE
    assert tensors_in([module, Holds], EVERYTHING) == []
