"""Two results of the same code and parameters: what they were put together from, and what differs."""

from __future__ import annotations

from autograd_doctor.reading.scored_twice import Reason, ends_of, scored_twice
from autograd_doctor.tape import Value
from autograd_doctor.taping import RecordedValue
from tests.tapes import data, made

WEIGHTS = RecordedValue((3, 2), "float", True, is_parameter=True, values=1)
STATES = data(8, 3)


def scored(states: Value, numbers: Value, *, heat: float = 1.0, training: bool = False) -> Value:
    given = made("dropout", states, 0.5, shape=states.shape) if training else states
    rated = made("div", made("matmul", given, WEIGHTS, shape=(8, 2)), heat, shape=(8, 2))
    scores = made("log_softmax", rated, -1, shape=(8, 2))
    return made("gather", scores, 1, numbers, shape=(8, 1))


def drawn(states: Value = STATES) -> Value:
    return made("multinomial", made("matmul", states, WEIGHTS, shape=(8, 2)), 1, shape=(8, 1), kind="int")


def reason(now: Value, before: Value) -> Reason | None:
    found = scored_twice(now, before)
    return found.reason(is_elsewhere=False) if found is not None else None


def test_what_a_value_was_put_together_from() -> None:
    one, other = data(4), data(4)
    buffer = made("__setitem__", made("__setitem__", data(2, 4), 0, one, shape=(2, 4)), 1, other, shape=(2, 4))
    joined = made("cat", made("flatten", buffer, shape=(8,)), one, shape=(12,))
    assert ends_of(made("__getitem__", joined, data(3, kind="int"), shape=(3,))) == [one, other, one]


def test_the_same_is_found_on_both_sides() -> None:
    numbers = drawn()
    found = scored_twice(scored(STATES, made("view", numbers, shape=(8, 1))), scored(STATES, numbers))
    assert found is not None
    assert (found.parameters, found.same, found.differing, found.modes) == ({WEIGHTS}, {STATES, numbers}, [], [])
    assert found.is_of_own_draws()


def test_other_code_is_not_compared() -> None:
    numbers = drawn()
    assert scored_twice(scored(STATES, numbers), scored(STATES, numbers, heat=2.0)) is None
    both = scored(STATES, numbers)
    assert scored_twice(made("view", both, shape=(8,)), both) is None, "of one forward"
    assert reason(*(scored(STATES, numbers, training=True) for _ in range(2))) is None, "noise on both sides"


def test_modes_and_numbers_that_differ() -> None:
    numbers = drawn()
    by_mode = reason(scored(STATES, numbers, training=True), scored(STATES, numbers))
    assert by_mode is not None
    assert by_mode.what == "mode"
    assert reason(scored(STATES, drawn()), scored(STATES, numbers)) is None, "another draw"
    clipped = made("clamp", numbers, shape=(8, 1), kind="int", max=0)
    by_action = reason(scored(STATES, clipped), scored(STATES, numbers))
    assert by_action == Reason("action", clipped.by)
