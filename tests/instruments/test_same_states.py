"""Bootstrapped targets, and the states on both sides of a loss."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from autograd_doctor.events.data import NextStatesTheSame
from autograd_doctor.instruments.data.same_states import SameStates, bootstrapped, given_to
from autograd_doctor.tape import Value
from tests.tapes import data, given, made
from tests.watching import watching


def predicted(*shape: int) -> Value:
    """What a model said, without a gradient."""
    return made("detach", made("linear", data(16, 4), given(1, 4), shape=shape or (16, 1)), shape=shape or (16, 1))


def test_data_plus_a_discounted_prediction_is_bootstrapped() -> None:
    reward, said = data(16, 1), predicted()
    discounted = made("mul", 0.9, said, shape=(16, 1))
    target = made("squeeze", made("add", reward, discounted, shape=(16, 1)), 1, shape=(16,))
    assert bootstrapped(target) == (reward, discounted)
    going_on = made("mul", 0.9, made("sub", 1, data(16, 1), shape=(16, 1)), shape=(16, 1))
    discounted = made("mul", going_on, said, shape=(16, 1))
    assert bootstrapped(made("add", reward, discounted, shape=(16, 1))) == (reward, discounted)


@pytest.mark.parametrize(
    "target",
    [
        made("add", data(16, 1), predicted(), shape=(16, 1)),
        made("add", predicted(), made("mul", 0.9, predicted(), shape=(16, 1)), shape=(16, 1)),
        made("add", made("mul", data(16, 1), 0.9), made("mul", 0.1, predicted(), shape=(16, 1)), shape=(16, 1)),
        made("sub", data(16, 1), made("mul", 0.5, predicted(), shape=(16, 1)), shape=(16, 1)),
        data(16, 1),
    ],
    ids=["not discounted", "of predictions", "a blend", "a rest", "data"],
)
def test_other_targets(target: Value) -> None:
    assert bootstrapped(target) is None


def test_rows_are_what_parameters_meet_first() -> None:
    rows = data(16, 4)
    hidden = made("relu", made("linear", rows, given(8, 4), shape=(16, 8)), shape=(16, 8))
    assert given_to([made("linear", hidden, given(1, 8), shape=(16, 1))]) == [rows]


def told(state: torch.Tensor, following: torch.Tensor) -> list[bool]:
    value = nn.Linear(4, 1)
    with watching(SameStates) as recorded:
        with torch.no_grad():
            target = state.sum(1, keepdim=True) + 0.9 * value(following)
        nn.functional.mse_loss(value(state), target)
    return [event.same for event in recorded.of(NextStatesTheSame)]


def test_states_are_compared() -> None:
    state = torch.randn(16, 4)
    assert told(state, state.clone() + 0) == [True]
    assert told(state, torch.cat([state[:-1], state[:1]])) == [False]
    assert told(torch.ones(16, 4), torch.ones(16, 4)) == [False]
    assert told(state, state) == []
