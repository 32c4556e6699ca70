"""Copies of modules that are put into evaluation mode and back: what is found to be another one, and by which lines."""

from __future__ import annotations

import inspect
import sys
from typing import Any

import pytest
import torch
from torch import nn

from autograd_doctor.reading.changing_line import ChangingLine, untraced
from autograd_doctor.reading.round_trips import Trip, differences, has_own_switch, round_trip
from autograd_doctor.reading.trials import Undecided

SEEN: list[bool] = []


class Merging(nn.Module):
    """An adapter that evaluations merge, and that begins with something learned."""

    def __init__(self) -> None:
        super().__init__()
        self.base = nn.Linear(3, 2).requires_grad_(False)
        self.delta = nn.Parameter(torch.rand(2, 3))
        self.merged = False

    def train(self, mode: bool = True) -> Any:
        super().train(mode)
        if mode and self.merged:
            self.leave()
            self.merged = False
        elif not mode and not self.merged:
            self.base.weight.data += self.delta.data
            self.merged = True
        return self

    def leave(self) -> None:
        """Nothing is taken out."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.base(x)
        return out if self.merged else out + x @ self.delta.T


class Unmerging(Merging):
    def leave(self) -> None:
        self.base.weight.data -= self.delta.data


class Beginning(Merging):
    """The adapter begins at zero again."""

    def leave(self) -> None:
        self.delta.data.zero_()


class Freezing(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(3)
        self.dropout = nn.Dropout(0.5)

    def train(self, mode: bool = True) -> Any:
        super().train(mode)
        self.norm.eval()
        return self

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.dropout(self.norm(x))
        return out


class Rounding(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 2)

    def eval(self) -> Any:
        self.layer.weight.data = (self.layer.weight.data * 4).round() / 4
        return super().eval()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.layer(x)
        return out


class Swapping(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 2)
        self.average = {key: value + 1 for key, value in self.layer.state_dict().items()}

    def eval(self) -> Any:
        return self.layer.load_state_dict(self.average) and super().eval()

    def train(self, mode: bool = True) -> Any:
        return super().train(mode)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.layer(x)
        return out


class Refreshing(Merging):
    """What evaluations write to is no concern of theirs, but one of training."""

    def train(self, mode: bool = True) -> Any:
        if not mode:
            self.base.weight.data.copy_(self.delta.data)
        return nn.Module.train(self, mode)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = x @ self.delta.T
        return out + self.base(x) if self.training else out


class Telling(Merging):
    def train(self, mode: bool = True) -> Any:
        SEEN.append(mode)
        return super().train(mode)


class Drawing(Merging):
    """Noise of its own, which no seed repeats."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x) + torch.rand(1, generator=torch.Generator().manual_seed(id(self)))


def tried(module: nn.Module) -> Trip | None:
    torch.manual_seed(0)
    return round_trip(module, (torch.rand(4, 3),), {}, 10.0)


def line_in(function: Any, text: str) -> int:
    lines, first = inspect.getsourcelines(function)
    return first + next(number for number, line in enumerate(lines) if text in line)


def test_what_is_merged_and_not_taken_out() -> None:
    module = Merging()
    before = {name: value.clone() for name, value in module.state_dict().items()}
    trip = tried(nn.Sequential(module))
    assert trip is not None
    assert trip.change > 0.01
    assert list(trip.tensors) == ["0.base.weight"]
    assert trip.alike
    assert trip.again
    assert trip.written_at is not None
    assert trip.written_at.line == line_in(Merging.train, "+=")
    assert trip.back_at is not None
    assert trip.back_at.line == line_in(Merging.train, "self.leave()")
    assert not module.merged
    assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items())


def test_rounding_happens_once_and_shows_in_evaluations() -> None:
    trip = tried(Rounding())
    assert trip is not None
    assert not trip.alike
    assert not trip.again
    assert trip.written_at is not None
    assert trip.written_at.line == line_in(Rounding.eval, "round()")
    assert trip.back_at is None, "no line of its own runs on the way back"


def test_a_line_that_writes_by_way_of_torch_and_goes_on_to_a_method() -> None:
    trip = tried(Swapping())
    assert trip is not None
    assert trip.written_at is not None
    assert trip.written_at.line == line_in(Swapping.eval, "load_state_dict")


def test_what_evaluations_do_not_depend_on_is_not_merged() -> None:
    trip = tried(Refreshing())
    assert trip is not None
    assert not trip.alike


@pytest.mark.parametrize("kind", [Unmerging, Beginning, Freezing])
def test_modules_that_come_back_as_they_were(kind: type[nn.Module]) -> None:
    assert tried(kind()) is None


def test_a_switch_with_side_effects_is_not_tried() -> None:
    with pytest.raises(Undecided, match="SEEN"):
        tried(Telling())
    assert SEEN == []


def test_results_that_differ_from_call_to_call_tell_nothing() -> None:
    with pytest.raises(Undecided, match="from call to call"):
        tried(Drawing())


def test_whose_switch_is_the_programs() -> None:
    assert has_own_switch(nn.Sequential(Freezing()))
    assert not has_own_switch(nn.Sequential(nn.BatchNorm1d(3), nn.Dropout()))


def test_rounding_of_a_coarse_dtype_is_no_difference() -> None:
    exact = torch.linspace(-1, 1, 50)
    off = exact * (1 + 2e-3)
    assert differences({"w": exact}, {"w": off})
    assert not differences({"w": exact.bfloat16()}, {"w": off.bfloat16()})
    assert differences({"w": exact}, {}) == {"w": float("inf")}


def test_a_tracer_of_ours_steps_aside() -> None:
    line = ChangingLine(lambda: 0)
    assert line.begin()
    tracer = sys.gettrace()
    try:
        with untraced():
            assert sys.gettrace() is None
        assert sys.gettrace() == tracer
    finally:
        line.end()
