"""Who draws from a loader, told by how the program calls for its iterator."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from autograd_doctor.reading.consumers import ends_with_the_iterator, is_within

OURS = """
class Loader:
    def __iter__(self):
        answers.append(ends_with_the_iterator())
        return iter([1, 2])

def ask(*packages):
    return is_within(packages)
"""

answers: list[bool] = []
ours: dict[str, Any] = {
    "__name__": "autograd_doctor.signals.loaders", "answers": answers, "is_within": is_within,
    "ends_with_the_iterator": ends_with_the_iterator,
}  # fmt: skip
exec(OURS, ours)
LOADER: Any = ours["Loader"]()


def by_for() -> None:
    for _ in LOADER:
        pass


def by_comprehension() -> list[int]:
    return [x for x in LOADER]  # noqa: C416


def by_generator_expression() -> int:
    return sum(x for x in LOADER)


def by_enumerate() -> None:
    for _ in enumerate(LOADER):
        pass


def by_zip() -> None:
    for _ in zip(range(2), LOADER, strict=False):
        pass


def by_iter_in_for() -> None:
    for _ in iter(LOADER):
        pass


def by_sum() -> int:
    return sum(LOADER)


def passing_on() -> Iterator[int]:
    yield from LOADER


def batches() -> Iterator[int]:
    for x in LOADER:
        yield x + 1


def by_generator() -> None:
    for _ in batches():
        pass


def by_passing_on() -> None:
    for _ in passing_on():
        pass


def generator_in_a_generator() -> Iterator[int]:
    yield from batches()


def by_two_generators() -> None:
    for _ in generator_in_a_generator():
        pass


@pytest.mark.parametrize(
    "program",
    [
        by_for, by_comprehension, by_generator_expression, by_enumerate, by_zip, by_sum, by_generator, by_passing_on,
        by_two_generators, by_iter_in_for,
    ],
)  # fmt: skip
def test_loops_end_with_their_iterator(program: Callable[[], Any]) -> None:
    answers.clear()
    program()
    assert answers == [True]


def by_iter() -> None:
    iterator = iter(LOADER)
    next(iterator)


def by_list() -> list[int]:
    return list(LOADER)


def by_method() -> Any:
    return LOADER.__iter__()


def by_own_enumerate() -> None:
    def enumerate(values: Any) -> Any:
        return iter(values)

    for _ in enumerate(LOADER):
        pass


def by_next_of_a_generator() -> int:
    return next(batches())


def by_next_of_two_generators() -> int:
    return next(generator_in_a_generator())


def by_call_of_a_call() -> Any:
    return (lambda: iter)()(LOADER)


def by_unpacking() -> int:
    first, *_ = LOADER
    return int(first)


@pytest.mark.parametrize(
    "program",
    [
        by_iter, by_list, by_method, by_own_enumerate, by_next_of_a_generator, by_next_of_two_generators,
        by_call_of_a_call, by_unpacking,
    ],
)  # fmt: skip
def test_others_may_expect_no_end(program: Callable[[], Any]) -> None:
    answers.clear()
    program()
    assert answers == [False]


def test_frameworks_handle_the_end_of_what_they_ask_for() -> None:
    for name, copes in (("lightning.fit", True), ("accelerate", True), ("lightningrod", False), (None, False)):
        answers.clear()
        exec("iter(loader)", {"__name__": name, "loader": LOADER})
        assert answers == [copes], name


def test_the_package_that_called_is_told() -> None:
    theirs: dict[str, Any] = {"__name__": "transformers.trainer", "ask": ours["ask"]}
    exec("found = ask('accelerate', 'transformers'), ask('accelerate')", theirs)
    assert theirs["found"] == (True, False)
