"""Sequences that a program fills up to the longest of a batch itself."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn.functional import pad

from autograd_doctor.reading.filling_up import FillingUp, Made, Stacked
from autograd_doctor.reading.subclasses import version_of


class Program:
    """Calls operations and lets somebody know of each."""

    def __init__(self) -> None:
        self._filling_up = FillingUp(lambda tensor: self._before if tensor is self._written else version_of(tensor))
        self._written: torch.Tensor | None = None
        self._before = 0
        self.found: list[Stacked] = []

    def call(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        output = function(*args, **kwargs)
        self._tell(Made(function.__name__, args, kwargs, output))
        return output

    def write(self, target: torch.Tensor, key: Any, value: torch.Tensor) -> None:
        self._written, self._before = target, version_of(target)
        target[key] = value
        self._tell(Made("__setitem__", (target, key, value), {}, target))

    def _tell(self, made: Made) -> None:
        found = self._filling_up.stacked(made)
        self.found += [found] if found is not None else []


def series(*lengths: int) -> list[torch.Tensor]:
    return [torch.ones(length, 2) for length in lengths]


@pytest.mark.parametrize(("dim", "axes"), [(0, (0, 1)), (1, (1, 0)), (-3, (0, 1))])
def test_padded_before_they_are_stacked(dim: int, axes: tuple[int, int]) -> None:
    program = Program()
    program.call(torch.stack, [program.call(pad, each, (0, 0, 0, 5 - len(each))) for each in series(3, 5, 4)], dim)
    assert program.found == [Stacked([3, 5, 4], *axes)]


@pytest.mark.parametrize(
    ("lengths", "how"),
    [
        ((3, 4), (0, 0, 0, None)),
        ((5, 5), (0, 0, 0, None)),
        ((3, 5), (0, 0, None, 0)),
        ((3, 5), (0, 0, 0, None, "constant", 1.0)),
    ],
    ids=["to no longest one", "all alike", "in front", "with ones"],
)
def test_what_is_no_filling_up(lengths: tuple[int, ...], how: tuple[Any, ...]) -> None:
    program = Program()
    padded = []
    for each in series(*lengths):
        amounts = [5 - len(each) if amount is None else amount for amount in how[:4]]
        padded.append(program.call(pad, each, amounts, *how[4:]))
    program.call(torch.stack, padded)
    assert program.found == []


def test_zeros_behind_each() -> None:
    program = Program()
    behind = [program.call(torch.cat, [each, program.call(torch.zeros, 5 - len(each), 2)]) for each in series(2, 5)]
    program.call(torch.stack, behind)
    assert program.found == [Stacked([2, 5], 0, 1)]


def test_written_to_zeros() -> None:
    program = Program()
    table = program.call(torch.zeros, 2, 5, 2)
    first, second = series(5, 3)
    program.write(table, (0, slice(None, 5)), first)
    assert program.found == []
    program.write(table, (1, slice(0, 3), slice(None)), second)
    assert program.found == [Stacked([5, 3], 0, 1)]
    in_time = program.call(torch.zeros, 5, 2, 2)
    program.write(in_time, (slice(None, 3), 0), second)
    program.write(in_time, (slice(None, 5), 1, ...), first)
    assert program.found[1:] == [Stacked([3, 5], 1, 0)]


@pytest.mark.parametrize("key", [(0, slice(2, None)), (0, slice(None, 3), slice(None, 1)), 0, (torch.tensor([0]), 1)])
def test_written_otherwise(key: Any) -> None:
    program = Program()
    table = program.call(torch.zeros, 2, 5, 2)
    program.write(table, key, torch.ones(()))
    program.write(table, (0, slice(None, 3)), torch.ones(3, 2))
    program.write(table, (1, slice(None, 5)), torch.ones(5, 2))
    assert program.found == []
