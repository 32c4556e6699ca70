"""Which losses are differences of distances that nothing holds, on tapes made by hand."""

from __future__ import annotations

import pytest

from autograd_doctor.tape import Value
from autograd_doctor.taping import RecordedValue
from autograd_doctor.views.growing import is_difference_of_distances
from tests.tapes import data, given, made

WEIGHT = RecordedValue((4, 3), "float", True, is_parameter=True)


def place(*, held: str = "") -> Value:
    """What a layer gives, and what is done to it."""
    layer = made("linear", data(8, 3), WEIGHT, shape=(8, 4))
    return made(held, layer, shape=(8, 4)) if held else layer


def gap(left: Value, right: Value) -> Value:
    return made("norm", made("sub", left, right, shape=(8, 4)), shape=(8,))


def square(left: Value, right: Value) -> Value:
    return made("sum", made("pow", made("sub", left, right, shape=(8, 4)), 2, shape=(8, 4)), shape=(8,))


def mean(value: Value) -> Value:
    return made("mean", value)


NEAR, FAR = gap(place(), place()), gap(place(), place())


@pytest.mark.parametrize(
    "root",
    [
        mean(made("add", made("sub", NEAR, FAR), 1.0)),
        made("sub", mean(made("pairwise_distance", place(), place())), mean(FAR)),
        made("mul", made("neg", mean(made("sub", FAR, NEAR))), 0.5),
        mean(made("sub", square(place(), place()), square(place(), place(held="relu")))),
        mean(made("sub", made("sqrt", square(place(), place())), NEAR)),
    ],
)
def test_differences_of_distances(root: Value) -> None:
    assert is_difference_of_distances(root)


@pytest.mark.parametrize(
    "root",
    [
        mean(made("add", NEAR, FAR)),
        mean(made("neg", FAR)),
        mean(made("relu", made("sub", NEAR, FAR))),
        mean(made("sub", NEAR, square(place(), place()))),
        mean(made("sub", NEAR, gap(place(held="normalize"), place()))),
        mean(made("sub", NEAR, gap(place(held="tanh"), place()))),
        mean(made("sub", NEAR, gap(place(), data(8, 4)))),
        mean(made("sub", NEAR, gap(place(), given(8, 4)))),
        made("sub", made("add", mean(NEAR), mean(made("square", place()))), mean(FAR)),
        made("sub", mean(NEAR), made("mse_loss", place(), data(8, 4))),
        mean(place()),
    ],
)
def test_what_is_held(root: Value) -> None:
    assert not is_difference_of_distances(root)
