"""Values that leave torch: recognised when they come back by address or value, otherwise at best guessed."""

from __future__ import annotations

import math
from typing import Any

import numpy
import pytest
import torch

from autograd_doctor.reading.places import Place
from autograd_doctor.reading.provenance import Provenance
from autograd_doctor.reading.python_values import _MOST_REMEMBERED, PythonValues, _floats

NUMBER = 0.123456


def place(function: str = "train", path: str = "train.py") -> list[Place]:
    """Three lines of a function, one after the other."""
    source = f"def {function}():\n    x = 1\n    y = 2\n    z = 3\n"
    namespace: dict[str, Any] = {}
    exec(compile(source, path, "exec"), namespace)
    code = namespace[function].__code__
    first = {line: offset for offset, _, line in reversed(list(code.co_lines())) if line}
    return [(code, first[line]) for line in (2, 3, 4)]


LINES = place()


def out(values: int = 1, connected: int = 0, line: Place | None = None, step: int = 0) -> Provenance:
    made = Provenance("item", line, step)
    made.values, made.connected = values, connected
    return made


def back(operation: str = "tensor", line: Place | None = None, step: int = 0) -> Provenance:
    return Provenance(operation, line, step)


def returned(escapes: PythonValues, *args: Any, operation: str = "tensor", **kwargs: Any) -> int:
    """The parameters that flow into what an operation makes of these arguments."""
    made = back(operation)
    escapes.returned(made, [*args, *kwargs.values()])
    return made.values


def test_a_number_that_comes_back_is_recognised() -> None:
    escapes = PythonValues()
    escapes.left(out(), NUMBER)
    assert returned(escapes, NUMBER) == 1
    assert returned(escapes, data=[[0.5, NUMBER]]) == 1
    assert returned(escapes, NUMBER + 1) == 0


def test_a_number_is_recognised_by_any_operation_that_takes_it_as_such() -> None:
    escapes = PythonValues()
    escapes.left(out(), NUMBER)
    assert returned(escapes, NUMBER, operation="mul") == 1
    assert returned(escapes, [NUMBER], operation="mul") == 0


def test_an_array_that_comes_back_is_recognised_by_its_address() -> None:
    escapes, array = PythonValues(), numpy.ones(2)
    escapes.left(out(0b10), array)
    assert returned(escapes, array) == 0b10
    assert returned(escapes, array, operation="add") == 0
    assert returned(escapes, numpy.ones(2)) == 0


def test_values_of_numbers_and_arrays_add_up() -> None:
    escapes, array = PythonValues(), numpy.ones(2)
    escapes.left(out(0b01), array)
    escapes.left(out(0b10), NUMBER)
    assert returned(escapes, array, NUMBER) == 0b11


def test_what_no_parameter_flows_into_is_not_remembered() -> None:
    escapes = PythonValues()
    escapes.left(out(values=0), NUMBER)
    assert escapes.last is None
    assert returned(escapes, NUMBER) == 0


def test_a_path_ends_where_the_value_leaves_torch() -> None:
    escapes, made = PythonValues(), out(0b11, connected=0b10)
    escapes.left(made, NUMBER)
    assert made.connected == 0
    assert [(cut.operation, cut.reason, cut.parameters) for cut in made.cuts_of(~0)] == [("item", "operation", [1])]


def test_a_path_that_has_ended_before_is_not_cut_again() -> None:
    escapes, made = PythonValues(), out(0b11, connected=0)
    escapes.left(made, NUMBER)
    assert made.cuts == {}


def test_what_comes_back_is_not_connected() -> None:
    escapes, array, made = PythonValues(), numpy.ones(2), back()
    escapes.left(out(0b01), array)
    escapes.left(out(0b10), NUMBER)
    for source in escapes._arrays.values():
        source.connected = 1
    for source in escapes._numbers.values():
        source.connected = 1
    escapes.returned(made, [array, NUMBER])
    assert made.connected == 0


@pytest.mark.parametrize("make", [lambda number: number + NUMBER, lambda number: numpy.full(2, number)])
def test_what_left_long_ago_is_forgotten(make: Any) -> None:
    escapes = PythonValues()
    kept = [make(number) for number in range(_MOST_REMEMBERED + 2)]
    for value in kept[:-1]:
        escapes.left(out(), value)
    assert returned(escapes, kept[0]) == 1
    escapes.left(out(), kept[-1])
    assert [returned(escapes, value) for value in (kept[0], kept[-2], kept[-1])] == [0, 0, 1]


# ------------------------------------------------------------------------------------------------------------- guesses


def guess(made: Provenance, source: Provenance) -> bool:
    """Whether something unknown that comes back is taken to be computed from what left."""
    escapes = PythonValues()
    escapes.left(source, NUMBER)
    escapes.returned(made, ["unknown"])
    return made.values > 0


def test_what_comes_back_further_on_may_follow() -> None:
    assert guess(back(line=LINES[1]), out(line=LINES[0]))
    assert guess(back(line=LINES[1]), out(line=LINES[1]))
    assert not guess(back(line=LINES[0]), out(line=LINES[1]))


def test_what_comes_back_in_another_step_does_not_follow() -> None:
    assert not guess(back(line=LINES[1], step=2), out(line=LINES[0], step=1))


def test_what_comes_back_elsewhere_does_not_follow() -> None:
    assert not guess(back(line=place("other")[1]), out(line=LINES[0]))
    assert not guess(back(line=place(path="other.py")[1]), out(line=LINES[0]))
    assert not guess(back(), out(line=LINES[0]))
    assert not guess(back(line=LINES[1]), out())


def test_only_operations_that_import_data_are_guessed_about() -> None:
    assert not guess(back("mul", line=LINES[1]), out(line=LINES[0]))


def test_a_guess_is_marked_as_one_and_not_connected() -> None:
    source, made = out(0b11, connected=0b10, line=LINES[0]), back(line=LINES[1])
    assert guess(made, source)
    assert [cut.guessed for cut in made.cuts_of(~0)] == [True]
    source.connected = 1
    escapes, again = PythonValues(), back(line=LINES[1])
    escapes.last = source
    escapes.returned(again, [])
    assert (again.values, again.connected) == (0b11, 0)


def test_nothing_is_guessed_where_something_is_known() -> None:
    escapes, made = PythonValues(), back(line=LINES[1])
    escapes.left(out(0b01, line=LINES[0]), NUMBER)
    escapes.left(out(0b10, line=LINES[0]), NUMBER + 1)
    escapes.returned(made, [NUMBER])
    assert made.values == 0b01


def test_nothing_is_guessed_before_anything_left() -> None:
    assert returned(PythonValues(), "unknown") == 0


# ------------------------------------------------------------------------------------------------------------- numbers


@pytest.mark.parametrize("value", [0.0, 3.0, 0.25, 1 / 1024, math.inf, math.nan, 7, "0.1", None])
def test_round_numbers_are_not_recognised(value: object) -> None:
    assert _floats(value) == []


def test_numbers_are_compared_as_float32() -> None:
    assert _floats(NUMBER) == [torch.tensor(NUMBER).item()]
    assert _floats(([NUMBER], (1 / 2048, [2.5]))) == [1 / 2048, torch.tensor(NUMBER).item()]


def test_of_long_lists_only_the_beginning_is_read() -> None:
    numbers = [number + NUMBER for number in range(_MOST_REMEMBERED + 1)]
    assert len(_floats([numbers, numbers])) == _MOST_REMEMBERED
    assert _floats([1] * _MOST_REMEMBERED + [NUMBER]) == []
    assert _floats([1] * (_MOST_REMEMBERED - 1) + [NUMBER]) != []
