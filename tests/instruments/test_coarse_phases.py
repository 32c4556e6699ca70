"""Sines and remainders of numbers that are far from their neighbours."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch

from autograd_doctor.events.numerics import PhaseTaken
from autograd_doctor.instruments.numerics.coarse_phases import CoarsePhases
from tests.watching import watching

SECONDS = 1_700_000_000 + 15 * torch.arange(1000)
PLACES = torch.arange(400)


def told(program: Callable[[], object]) -> list[PhaseTaken]:
    with watching(CoarsePhases) as recorded:
        program()
    assert not recorded.failures
    return list(recorded.of(PhaseTaken))


def line_of(program: Callable[[], object], lines: int) -> int:
    return program.__code__.co_firstlineno + lines


def test_the_remainder_of_times_that_were_rounded() -> None:
    def program() -> object:
        times = SECONDS.float()
        return torch.remainder(times - 5, 180)

    (event,) = told(program)
    assert (event.operation, event.dtype, event.period) == ("remainder", "float32", 180)
    assert event.error == pytest.approx(64, abs=4)
    assert event.made_at is not None
    assert event.made_at.line == line_of(program, 1)


def test_angles_of_positions_that_were_rounded() -> None:
    def program() -> object:
        rates = (10 ** -torch.arange(4.0)).to(torch.bfloat16)
        angles = torch.outer(PLACES.bfloat16(), rates)
        return angles.cos()

    (event,) = told(program)
    assert (event.operation, event.dtype, event.largest) == ("cos", "bfloat16", 400)
    assert 1 <= event.error <= 2
    assert event.period == pytest.approx(2 * math.pi)
    assert event.made_at is not None
    assert event.made_at.line == line_of(program, 2)


@pytest.mark.parametrize(
    "program",
    [
        lambda: SECONDS % 180,
        lambda: SECONDS.double() % 180,
        lambda: SECONDS.float() % 86_400,
        lambda: SECONDS.float() % 180 == 0,
        lambda: SECONDS.float().remainder_(180),
        lambda: PLACES.float().sin(),
        lambda: (PLACES.bfloat16() / 100).sin(),
        lambda: PLACES.bfloat16().requires_grad_().sin(),
        lambda: torch.zeros(3).sin(),
        lambda: (PLACES.bfloat16() * torch.ones(400, dtype=torch.bfloat16, requires_grad=True)).detach().sin(),
        lambda: torch.full((3,), torch.inf).sin(),
        lambda: (2**35 + 4096 * PLACES).float() % 16_384,
        lambda: (16 * PLACES).half().fmod(64),
        lambda: torch.as_tensor(np.float64(1e10 + 0.1), dtype=torch.float32) % 180,
        lambda: ((PLACES.float() + 1) * 1e6).sin(),
        lambda: torch.cat([PLACES[:90], torch.tensor([10**10])]).float().sin(),
    ],
    ids=[
        "whole numbers",
        "in 64 bits",
        "a long period",
        "only compared",
        "in place",
        "small enough",
        "a part of a turn",
        "learned",
        "zeros",
        "of something learned",
        "not finite",
        "exact",
        "exact in 16 bits",
        "one number of NumPy",
        "never whole numbers",
        "one that fills a place",
    ],
)
def test_where_a_phase_is_known_or_not_asked_for(program: Callable[[], object]) -> None:
    assert told(program) == []


def test_what_autocast_has_rounded() -> None:
    def program() -> object:
        places, rates = PLACES.float(), 10 ** -torch.arange(4.0)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            angles = places[:, None] @ rates[None]
        return angles.sin()

    (event,) = told(program)
    assert event.made_at is not None
    assert event.made_at.line == line_of(program, 3)


def test_a_long_way_back_on_which_each_value_is_used_twice() -> None:
    def program() -> object:
        times = PLACES.float()
        times = times.bfloat16()
        for _ in range(40):
            times = times + times
        return times.sin()

    (event,) = told(program)
    assert event.made_at is not None
    assert event.made_at.line == line_of(program, 2)


def test_where_rates_came_in_if_positions_cannot_be_told_from_them() -> None:
    def program() -> object:
        rates, places = torch.ones(4, dtype=torch.bfloat16), PLACES.bfloat16()
        angles = places[:, None] * rates
        return angles.sin()

    (event,) = told(program)
    assert event.made_at is not None
    assert event.made_at.line == line_of(program, 2)


def test_numbers_that_are_rounded_down_to_multiples() -> None:
    def program() -> object:
        times = SECONDS.float()
        return times - times % 180

    assert told(program) == []


def test_a_period_in_a_tensor_and_how_often_a_line_is_told() -> None:
    def program() -> None:
        for _ in range(6):
            SECONDS.float()[:, None] % torch.tensor([180.0, 86_400.0])

    events = told(program)
    assert [event.period for event in events] == [180] * 4


@pytest.mark.parametrize("by", [torch.as_tensor, torch.tensor])
def test_arrays_that_were_rounded(by: Callable[..., torch.Tensor]) -> None:
    (event,) = told(lambda: by(SECONDS.numpy(), dtype=torch.float32) % 180)
    assert event.error == pytest.approx(64, abs=4)
