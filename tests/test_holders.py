"""Who keeps an object alive, in programs of a few lines."""

from __future__ import annotations

import json
import sys
from collections import deque
from collections.abc import Sequence
from threading import Thread
from types import SimpleNamespace
from typing import Any

import pytest
from torch import nn

from autograd_doctor.reading.holders import Found, Holder, Holders
from autograd_doctor.reading.places import own_modules


class Thing:
    """Something that is kept."""


class Keeper:
    """An object of the program that keeps something."""

    def __init__(self, kept: Any) -> None:
        self.kept = kept


class Module(nn.Module):
    def __init__(self, kept: Any) -> None:
        super().__init__()
        self.kept = kept


def run(program: str) -> list[Found | None]:
    """What a program calls `found`, in a thread that no frame of a test is below."""
    namespace: dict[str, Any] = {
        "Thing": Thing, "Keeper": Keeper, "Module": Module, "deque": deque, "Holders": Holders,
    }  # fmt: skip
    thread = Thread(target=exec, args=(program, namespace))
    thread.start()
    thread.join()
    found: list[Found | None] = namespace["found"]
    return found


def search(program: str, *wanted: str) -> list[Found | None]:
    """What is found for expressions at the end of a program."""
    return run(f"{program}\nfound = Holders().search([{', '.join(wanted)}])")


def holder(program: str, wanted: str) -> Holder | None:
    (found,) = search(program, wanted)
    return None if found is None else found.holder


@pytest.mark.parametrize(
    ("program", "wanted", "name", "kind"),
    [
        ("thing = Thing()", "thing", "thing", "variable"),
        ("kept = [Thing()]", "kept[0]", "kept", "list"),
        ("kept = {Thing()}", "next(iter(kept))", "kept", "set"),
        ("kept = (Thing(),)", "kept[0]", "kept", "tuple"),
        ("kept = deque([Thing()])", "kept[0]", "kept", "deque"),
        ("kept = {'a': Thing()}", "kept['a']", "kept['a']", "dict"),
        ("kept = {2: [Thing()]}", "kept[2][0]", "kept[2]", "list"),
        ("kept = {None: Thing()}", "kept[None]", "kept[None]", "dict"),
        ("kept = {(1, 2): Thing()}", "kept[1, 2]", "kept[…]", "dict"),
        ("kept = {'a': {'b': Thing()}}", "kept['a']['b']", "kept['a']['b']", "dict"),
        ("kept = [{'b': Thing()}]", "kept[0]['b']", "kept['b']", "list"),
        ("kept = Keeper(Thing())", "kept.kept", "kept.kept", "attribute"),
        ("kept = Keeper([Thing()])", "kept.kept[0]", "kept.kept", "list"),
        ("kept = Keeper({'a': Thing()})", "kept.kept['a']", "kept.kept['a']", "attribute"),
        ("kept = Keeper(Keeper(Thing()))", "kept.kept.kept", "kept.kept.kept", "attribute"),
        ("kept = [(1, Thing())]", "kept[0][1]", "kept", "tuple"),
        ("kept = [Keeper(Thing())]", "kept[0].kept", "kept.kept", "attribute"),
    ],
)
def test_names_lead_from_a_variable_to_what_it_keeps(program: str, wanted: str, name: str, kind: str) -> None:
    assert holder(program, wanted) == Holder(name, kind)


@pytest.mark.parametrize("kept", ["deque([Thing()], maxlen=2)", "deque([[Thing()]], maxlen=2)"])
def test_the_length_of_a_window_is_known(kept: str) -> None:
    found = holder(f"kept = {kept}", "kept[0][0]" if "[[" in kept else "kept[0]")
    assert found is not None
    assert found.limit == 2
    outer = holder(f"kept = {{'a': Keeper({kept})}}", "kept['a'].kept[0]")
    assert outer is not None
    assert outer.limit == 2


FUNCTIONS = """
def outer():
    first, other, thing = 0, [1], {made}
    def inner(): return first, other, thing
    return inner
kept = outer()
"""


@pytest.mark.parametrize(
    ("program", "wanted", "name", "kind"),
    [
        (FUNCTIONS.format(made="Thing()"), "kept.__closure__[2].cell_contents",
         "thing in the closure of outer.<locals>.inner()", "closure"),
        (FUNCTIONS.format(made="[Thing()]"), "kept.__closure__[2].cell_contents[0]",
         "thing in the closure of outer.<locals>.inner()", "list"),
        (FUNCTIONS.format(made="{'a': Thing()}"), "kept.__closure__[2].cell_contents['a']",
         "thing['a'] in the closure of outer.<locals>.inner()", "closure"),
        ("def kept(a, b=1, thing=Thing()): pass", "kept.__defaults__[1]",
         "thing in the defaults of kept()", "default argument"),
        ("def kept(a, b=1, cache=[Thing()]): pass", "kept.__defaults__[1][0]",
         "cache in the defaults of kept()", "list"),
        ("def kept(a, cache={'x': Thing()}, b=1): pass", "kept.__defaults__[0]['x']",
         "cache['x'] in the defaults of kept()", "default argument"),
        ("def kept(*, thing=Thing()): pass", "kept.__kwdefaults__['thing']",
         "thing in the defaults of kept()", "default argument"),
    ],
)  # fmt: skip
def test_functions_keep_things_in_closures_and_defaults(program: str, wanted: str, name: str, kind: str) -> None:
    assert holder(program, wanted) == Holder(name, kind)


@pytest.mark.parametrize("kept", ["functools.cache", "functools.lru_cache(maxsize=None)"])
@pytest.mark.parametrize("made", ["Thing()", "(1, [Thing()])"])
def test_functions_keep_what_they_have_returned(kept: str, made: str) -> None:
    found = holder(
        f"import functools\n@{kept}\ndef make(n): return {made}\nmake(1)", f"make(1){'[1][0]' * (made[0] == '(')}"
    )
    assert found is not None
    assert (found.name, found.at and found.at.line) == ("the cache of make()", 2)


ALIKE = """
class Thing(Thing):
    def __eq__(self, other): raise TypeError("as tensors of several values do")
    __hash__ = object.__hash__
def outer():
    first, thing = Thing(), Thing()
    return lambda: (first, thing)
kept = outer()
"""


def test_variables_of_a_closure_are_told_apart_whatever_they_hold() -> None:
    found = holder(ALIKE, "kept.__closure__[1].cell_contents")
    assert found == Holder("thing in the closure of outer.<locals>.<lambda>()", "closure")


METHOD = "def method(self): return Holders().search([self.kept[0]])\nfound = method({}([Thing()]))"


@pytest.mark.parametrize(
    ("program", "name", "in_module"),
    [
        ("model = Module([Thing()]); found = Holders().search([model.kept[0]])", "model.kept", True),
        ("models = [Module([Thing()])]; found = Holders().search([models[0].kept[0]])", "models.kept", True),
        ("keeper = Keeper([Thing()]); found = Holders().search([keeper.kept[0]])", "keeper.kept", False),
        (METHOD.format("Module"), "self.kept", True),
        (METHOD.format("Keeper"), "self.kept", False),
    ],
)
def test_what_hangs_on_an_attribute_of_a_module_is_marked(program: str, name: str, in_module: bool) -> None:
    (found,) = run(program)
    assert found is not None
    assert found.holder == Holder(name, "list", in_module=in_module)


def test_nobody_holds_what_has_just_been_made() -> None:
    assert holder("", "Thing()") is None
    assert Holders().of([object()]) == [None]


def test_a_name_may_be_a_few_steps_away_and_no_more() -> None:
    found = holder("kept = [[[[[Thing()]]]]]", "kept[0][0][0][0][0]")
    assert found == Holder("kept", "list")
    assert holder("kept = [[[[[[Thing()]]]]]]", "kept[0][0][0][0][0][0]") is None


def test_all_searches_answer_for_themselves() -> None:
    found = search("first, second = [Thing()], {'a': Thing()}; third = Thing()", "first[0]", "second['a']", "third")
    assert [each and each.holder.name for each in found] == ["first", "second['a']", "third"]


@pytest.mark.parametrize(
    ("memory", "name"), [("[1, thing]", "memory.kept"), ("[(1, thing), 2]", "batch"), ("[thing]", "batch")]
)
def test_a_longer_list_goes_before_a_nearer_one(memory: str, name: str) -> None:
    found = holder(f"thing = Thing(); batch = [thing]; memory = Keeper({memory}); del thing", "batch[0]")
    assert found == Holder(name, "list")


def test_what_a_library_keeps_goes_by_the_class_of_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json, "registered", [Keeper([Thing()])], raising=False)
    assert holder("import json", "json.registered[0].kept[0]") == Holder("Keeper.kept", "list")


def test_what_only_a_library_keeps_is_held_by_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json, "registered", [SimpleNamespace(kept=Thing())], raising=False)
    assert holder("import json", "json.registered[0].kept") is None


def test_a_variable_of_a_module_of_the_program_is_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "registered", [Thing()], raising=False)
    assert holder(f"import sys; own = sys.modules[{__name__!r}]", "own.registered[0]") == Holder("registered", "list")


def test_own_modules_are_those_of_the_program() -> None:
    found = list(own_modules())
    assert sys.modules[__name__] in found
    assert json not in found


# -------------------------------------------------------------------------------------------------------------- stores


def stores(program: str, wanted: str) -> list[tuple[Any, ...]]:
    """Kind of each container on the way, the key and whether it is the dict of an object."""
    (found,) = search(program, wanted)
    assert found is not None
    return [(type(store.container).__name__, store.key, store.attribute) for store in found.stores]


@pytest.mark.parametrize(
    ("program", "wanted", "expected"),
    [
        ("thing = Thing()", "thing", []),
        ("kept = [0, Thing()]", "kept[1]", [("list", 1, False)]),
        ("kept = {'a': Thing()}", "kept['a']", [("dict", "a", False)]),
        ("kept = [(1, Thing())]", "kept[0][1]", [("list", 0, False)]),
        ("kept = {'a': [Thing()]}", "kept['a'][0]", [("list", 0, False), ("dict", "a", False)]),
        ("kept = Keeper([Thing()])", "kept.kept[0]", [("list", 0, False), ("dict", "kept", True)]),
        ("kept = Keeper([Thing()]); vars(kept)", "kept.kept[0]", [("list", 0, False), ("dict", "kept", True)]),
        ("kept = [Keeper(Thing())]", "kept[0].kept", [("dict", "kept", True), ("list", 0, False)]),
        (FUNCTIONS.format(made="[Thing()]"), "kept.__closure__[2].cell_contents[0]", [("list", 0, False)]),
    ],
)
def test_the_containers_on_the_way_are_told(program: str, wanted: str, expected: Sequence[Any]) -> None:
    assert stores(program, wanted) == list(expected)
