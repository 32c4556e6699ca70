"""What the user would type for an object."""

from __future__ import annotations

from threading import Thread
from types import FrameType, SimpleNamespace
from typing import Any

import pytest

from autograd_doctor.reading.variable_names import _CONTAINER_LIMIT, series_name, variable_name


class Thing:
    """Something to be named."""


THING, OTHER = Thing(), Thing()


class Keeps:
    kept = THING


def frame(**variables: Any) -> FrameType:
    """The frame of a program with these variables, in a thread that no frame of a test is below."""
    namespace = dict(variables)
    thread = Thread(target=exec, args=("import sys\nframe = sys._getframe()", namespace))
    thread.start()
    thread.join()
    found: FrameType = namespace["frame"]
    return found


@pytest.mark.parametrize(
    ("held", "name"),
    [
        (THING, "held"),
        ([0, THING], "held[1]"),
        ((THING,), "held[0]"),
        ({"a": THING}, "held['a']"),
        ({3: THING}, "held[3]"),
        ({(1, 2): THING}, ""),
        ({THING}, ""),
        (SimpleNamespace(inner=THING), "held.inner"),
        ([[THING]], ""),
        (Keeps, ""),
        (OTHER, ""),
    ],
)
def test_variables_are_looked_into_one_level(held: Any, name: str) -> None:
    assert variable_name(THING, frame(held=held)) == name


def test_a_variable_goes_before_a_place_in_another() -> None:
    assert variable_name(THING, frame(things=[THING], thing=THING)) == "thing"


@pytest.mark.parametrize("name", ["held['x0']", "held[0]", "held.x0"])
def test_large_containers_are_not_looked_into(name: str) -> None:
    for count, found in ((_CONTAINER_LIMIT, name), (_CONTAINER_LIMIT + 1, "")):
        things: Any = {f"x{number}": THING if number == 0 else OTHER for number in range(count)}
        held = {"held['x0']": things, "held[0]": list(things.values()), "held.x0": SimpleNamespace(**things)}[name]
        assert variable_name(THING, frame(held=held)) == found


def test_the_innermost_frame_that_names_it_counts() -> None:
    def inner(within: list[Thing]) -> str:
        return variable_name(within[0])

    def outer(mine: Thing) -> str:
        return inner([mine])

    assert outer(Thing()) == "within[0]"


def test_an_outer_frame_counts_where_no_inner_one_names_it() -> None:
    def inner(within: set[Thing]) -> str:
        return variable_name(next(iter(within)))

    def outer(mine: Thing) -> str:
        return inner({mine})

    assert outer(Thing()) == "mine"


def test_a_member_of_a_series_goes_by_its_place() -> None:
    assert series_name(THING, frame(thing=THING, things=[OTHER, THING])) == "things[1]"
    assert series_name(THING, frame(thing=THING, things={"a": OTHER, "b": THING})) == "things['b']"


@pytest.mark.parametrize(
    "variables",
    [
        {"thing": THING, "other": OTHER, "both": [THING, OTHER]},
        {"thing": THING, "mixed": [THING, 1.5]},
        {"thing": THING, "others": [OTHER, Thing()]},
        {"others": [OTHER]},
    ],
    ids=["all named", "of several kinds", "of others", "elsewhere"],
)
def test_what_is_no_member_of_a_series_has_no_place_in_one(variables: dict[str, Any]) -> None:
    assert series_name(THING, frame(**variables)) == ""


def test_a_series_may_be_that_of_a_caller() -> None:
    def called(thing: Thing) -> str:
        return series_name(thing)

    things = [Thing(), Thing()]
    named = called(things[1]), series_name(things[1])
    assert named == ("things[1]", "things[1]")


def test_what_wraps_the_only_one_of_its_kind_is_called_in_its_place() -> None:
    inner, other, wrapper, pair = Thing(), Thing(), Thing(), Thing()
    vars(wrapper).update(inner=inner, rate=0.1)
    vars(pair).update(first=other, second=Thing())
    held = frame(outer=wrapper, pair=pair)
    assert variable_name(inner, held) == "outer.inner"
    assert variable_name(inner, held, wrapper=Thing) == "outer"
    assert variable_name(other, held, wrapper=Thing) == "pair.first"
