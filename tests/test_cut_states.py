"""States of a window that are cut after each of its steps, on tapes made by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from autograd_doctor.findings import Location
from autograd_doctor.tape import Value
from autograd_doctor.taping import RecordedValue
from autograd_doctor.trace import Trace
from autograd_doctor.views.cut_states import CutState, cut_states
from tests.tapes import data, given, made, tape

CELL, CUT, HEAD = (Location(path="train.py", line=line) for line in (5, 6, 7))


def parameter(number: int) -> Value:
    return RecordedValue((4, 4), "float", False, is_parameter=True, values=1 << number, connected=1 << number)


WEIGHT, OUT = parameter(0), parameter(1)


def cell(state: Value, weight: Value = WEIGHT, *, shape: tuple[int, ...] = (8, 4), name: str = "gru_cell") -> Value:
    new = made(name, data(8, 4), state, weight, shape=shape, at=CELL)
    new.learns, new.values, new.connected = True, weight.values | state.values, weight.connected
    return new


def cut(state: Value, name: str = "detach") -> Value:
    plain = made(name, state, shape=state.shape, at=CUT)
    plain.learns, plain.connected = False, 0
    return plain


class Beside:
    """Cells that are given, beside a state that is cut, another one that keeps its graph."""

    def __init__(self) -> None:
        self.kept = given(8, 4)

    def __call__(self, step: int, state: Value) -> Value:
        self.kept = made("mul", self.kept, data(8, 4), shape=(8, 4))
        new = made("gru_cell", self.kept, state, WEIGHT, shape=(8, 4), at=CELL)
        new.connected = WEIGHT.connected
        return new


def heard(state: Value) -> Value:
    return made("mse_loss", made("linear", state, OUT, shape=(8, 1), at=HEAD), data(8, 1))


def summed(losses: list[Value]) -> Trace:
    return tape(made("sum", made("stack", *losses, shape=(len(losses),))))


def window(
    hand_on: Callable[[int, Value], Value] = lambda step, state: cut(state),
    listen: Callable[[Value], Value] = heard,
    step_of: Callable[[int, Value], Value] = lambda step, state: cell(state),
    *,
    steps: int = 6,
) -> list[tuple[Location | None, CutState]]:
    state, losses = data(8, 4), []
    for step in range(steps):
        state = step_of(step, state)
        losses.append(listen(state))
        state = hand_on(step, state)
    (known,) = summed(losses).tapes
    return list(cut_states(known))


def test_a_state_that_is_cut_after_each_step() -> None:
    assert window() == [(CUT, CutState(5, [0]))]
    assert window(lambda step, state: cut(state, "data")) == [(CUT, CutState(5, [0]))]
    assert window(lambda step, state: made("mul", cut(state), data(8, 1), shape=(8, 4))) == [(CUT, CutState(5, [0]))]


@pytest.mark.parametrize(
    ("hand_on", "listen", "step_of"),
    [
        pytest.param(lambda step, state: state, heard, None, id="not cut"),
        pytest.param(lambda step, state: cut(state) if step % 2 else state, heard, None, id="truncated"),
        pytest.param(None, lambda state: made("mse_loss", state, data(8, 4)), None, id="compared as it is"),
        pytest.param(None, heard, lambda step, state: cell(state, parameter(step + 2)), id="layers one by one"),
        pytest.param(None, heard, lambda step, state: cell(state, shape=(8, 3, 4)), id="memories of segments"),
        pytest.param(None, heard, lambda step, state: cell(state, name="gru"), id="parts of windows"),
        pytest.param(
            None,
            lambda state: made("mse_loss", made("linear", state, OUT, shape=(8, 4), at=HEAD), cut(state)),
            lambda step, state: cell(data(8, 4)),
            id="nothing handed on",
        ),
        pytest.param(None, heard, Beside(), id="a graph beside the cut"),
    ],
)
def test_what_is_handed_on_for_a_reason(
    hand_on: Callable[[int, Value], Value] | None,
    listen: Callable[[Value], Value],
    step_of: Callable[[int, Value], Value] | None,
) -> None:
    found = window(
        hand_on or (lambda step, state: cut(state)), listen, step_of or (lambda step, state: cell(state)), steps=12
    )
    assert found == []


def test_a_short_window_and_one_of_which_the_end_is_heard() -> None:
    assert window(steps=4) == []
    state, states = data(8, 4), []
    for _ in range(6):
        state = cell(cut(state) if states else state)
        states.append(state)
    (known,) = summed([heard(states[-1])]).tapes
    assert list(cut_states(known)) == []
