"""Numbers for objects, by identity, and what is known of values until they change."""

from __future__ import annotations

import pytest
import torch

from autograd_doctor.reading.numbers import Numbers, ValueTable, identity
from autograd_doctor.reading.subclasses import version_of


class Thing:
    """Equal to all others of its kind."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


@pytest.fixture
def numbers() -> Numbers:
    return Numbers()


def test_objects_are_numbered_as_they_come(numbers: Numbers) -> None:
    first, second = Thing(), Thing()
    assert [numbers.number(each) for each in (first, second, first)] == [0, 1, 0]
    assert [numbers.get(each) for each in (first, second, Thing())] == [0, 1, None]


def test_what_is_added_again_gets_another_number(numbers: Numbers) -> None:
    thing = Thing()
    assert (numbers.add(thing), numbers.add(thing), numbers.get(thing)) == (0, 1, 1)


def test_the_number_of_the_dead_is_not_that_of_who_takes_their_address(numbers: Numbers) -> None:
    gone, new = Thing(), Thing()
    numbers.add(gone)
    numbers._entries[identity(new)] = numbers._entries.pop(identity(gone))
    del gone
    assert numbers.get(new) is None
    assert numbers.number(new) == 1


def test_a_number_may_be_handed_on(numbers: Numbers) -> None:
    old, new, other = Thing(), Thing(), Thing()
    numbers.add(old)
    numbers.add(other)
    numbers.carry_on(0, new)
    assert [numbers.get(each) for each in (old, new, other)] == [None, 0, 1]


def test_the_living_are_told_in_their_order(numbers: Numbers) -> None:
    first, gone, last = Thing(), Thing(), Thing()
    for each in (first, gone, last):
        numbers.add(each)
    del gone, each
    assert [(number, each is first or each is last) for number, each in numbers.living()] == [(0, True), (2, True)]


def test_what_is_known_of_values_ends_with_a_change_in_place() -> None:
    table: ValueTable[str] = ValueTable(version_of)
    values = torch.ones(3)
    table.put(values, "ones")
    assert (table.get(values), values in table, len(table)) == ("ones", True, 1)
    values.mul_(2)
    assert (table.get(values), values in table) == (None, False)
    table.put(values, "twos")
    view = values[:1]
    assert (table.get(values), table.get(view)) == ("twos", None)
    view.zero_()
    assert table.get(values) is None
    table.discard(values)
    assert len(table) == 0


def test_values_of_inference_mode_have_no_versions() -> None:
    table: ValueTable[str] = ValueTable(version_of)
    with torch.inference_mode():
        values = torch.ones(3)
    table.put(values, "ones")
    assert table.get(values) == "ones"


def test_of_what_an_operation_changed_is_known_what_it_found_and_what_it_left() -> None:
    values = torch.ones(3)
    found = {id(values): version_of(values)}
    table: ValueTable[str] = ValueTable(lambda tensor: found.get(id(tensor), version_of(tensor)))
    table.put(values, "ones")
    values.mul_(2)
    assert table.get(values) == "ones"
    table.put(values, "twos")
    assert table.get(values) == "twos"
    found.clear()
    assert table.get(values) == "twos"
    table.clear()
    assert (values in table, len(table)) == (False, 0)


def test_a_table_that_was_emptied_still_forgets_the_dead() -> None:
    table: ValueTable[str] = ValueTable(version_of)
    table.put(torch.ones(1), "gone at once")
    table.clear()
    values = torch.ones(3)
    table.put(values, "ones")
    del values
    assert len(table) == 0


def test_numbers_that_follow_others_keep_theirs_and_take_those_that_are_free() -> None:
    first, second, third = Thing(), Thing(), Thing()
    earlier, numbers, last = Numbers(), Numbers(), Numbers()
    assert [earlier.add(first), earlier.add(second), earlier.add(third)] == [0, 1, 2]
    del third
    numbers.follow(earlier)
    assert numbers.get(second) is None
    assert numbers.number(second) == 1
    new = Thing()
    assert numbers.number(new) == 2
    last.follow(numbers)
    assert [last.number(each) for each in (new, first, second, Thing())] == [2, 0, 1, 3]
