"""Variables of a running frame: read as they are, and left as they were."""

from __future__ import annotations

import sys
import weakref
from types import FrameType, SimpleNamespace
from typing import Any

from torch import nn

from autograd_doctor.reading.frame_locals import local_variables, variables


class Thing:
    """Something that a variable holds."""


def test_a_frame_keeps_no_copy_of_what_was_read() -> None:
    thing = Thing()
    gone = weakref.ref(thing)
    read = local_variables(sys._getframe())
    was_there = read.pop("thing") is thing
    del thing
    assert was_there
    assert gone() is None


def test_what_the_program_asked_for_with_locals_stays() -> None:
    def program(kept: list[Any], thing: object) -> None:
        kept.append(locals())
        local_variables(sys._getframe())

    found: list[Any] = []
    program(found, thing=1)
    assert found[0]["thing"] == 1


def test_the_namespace_of_a_module_stays() -> None:
    namespace: dict[str, Any] = {"read": local_variables}
    exec("import sys\nthing = 1\nfound = read(sys._getframe())", namespace)
    assert (namespace["thing"], namespace["found"]["thing"]) == (1, 1)


def test_the_namespace_of_a_class_stays() -> None:
    class Body:
        thing = 1
        found = local_variables(sys._getframe())

    assert (Body.thing, Body.found["thing"]) == (1, 1)


def method(self: Any, x: int, __hidden: int = 0) -> FrameType:
    return sys._getframe()


def test_a_method_can_name_its_variables_attributes_and_globals() -> None:
    owner = SimpleNamespace(gain=2.0)
    found = dict(variables(method(owner, 1)))
    assert (found["self"], found["x"], found["self.gain"], found["Thing"]) == (owner, 1, 2.0, Thing)
    assert not [name for name in found if name.startswith("__")]


def test_what_a_module_registers_is_named_like_an_attribute() -> None:
    module = nn.BatchNorm1d(2)
    module.inner = nn.Identity()
    found = dict(variables(method(module, 1)))
    assert found["self.weight"] is module.weight
    assert found["self.running_mean"] is module.running_mean
    assert found["self.inner"] is module.inner
    assert found["self.training"] is True
    assert "self._parameters" not in found


def test_a_module_that_says_itself_what_it_registers_is_not_asked() -> None:
    found = dict(variables(method(SimpleNamespace(_buffers=[1], x=2), 1)))
    assert ("self._buffers" in found, found["self.x"]) == (False, 2)


def test_variables_of_a_module_body_are_named_once() -> None:
    namespace: dict[str, Any] = {"read": variables}
    exec("import sys\nthing = 1\nnames = [name for name, _ in read(sys._getframe())]", namespace)
    assert namespace["names"].count("thing") == 1
    assert not [name for name in namespace["names"] if name.startswith("__")]
