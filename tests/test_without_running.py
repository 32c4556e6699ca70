"""Looking at the program's objects runs nothing of theirs."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import numpy
import torch
from torch import nn

from autograd_doctor.reading.frame_locals import variables
from autograd_doctor.reading.module_copies import copies_of
from autograd_doctor.reading.module_names import held_name, path_name, root_name
from autograd_doctor.reading.python_values import _address, _floats
from autograd_doctor.reading.tensors_in import EVERYTHING, tensors_in
from autograd_doctor.reading.trials import fresh
from autograd_doctor.reading.without_running import attribute, attributes, is_a, unwrapped


def _runs(self: Any, *_: Any) -> Any:
    raise AssertionError("something of the program ran")


class Touchy:
    """Keeps what it is given, and does not want to be asked for anything."""

    def __init__(self, **kept: Any) -> None:
        object.__getattribute__(self, "__dict__").update(kept)

    __getattribute__ = __getattr__ = __eq__ = __len__ = __iter__ = __bool__ = __repr__ = _runs  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]
    __class__ = property(_runs)  # type: ignore[assignment]


class TouchyDict(dict[Any, Any]):
    values = items = get = __iter__ = __len__ = __getitem__ = keys = _runs  # type: ignore[assignment]
    __class__ = property(_runs)  # type: ignore[assignment]


class TouchyList(list[Any]):
    __iter__ = __len__ = __getitem__ = __eq__ = _runs  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]
    __class__ = property(_runs)  # type: ignore[assignment]


class TouchyModule(ModuleType):
    __getattribute__ = __getattr__ = _runs  # type: ignore[assignment]


class Disguised:
    """Its class says what its `__dict__` is."""

    __slots__ = ()
    __dict__ = property(_runs)  # type: ignore[assignment]


class Slotted:
    __slots__ = ("x",)


def test_attributes_are_those_that_an_object_keeps() -> None:
    assert attributes(Touchy(x=1)) == {"x": 1}
    assert attributes(SimpleNamespace(y=2)) == {"y": 2}
    assert attributes(TouchyModule("lazy"))["__name__"] == "lazy"
    assert attributes(nn.Linear(1, 1))["in_features"] == 1
    for thing in (Disguised(), Slotted(), 3, None, []):
        assert attributes(thing) == {}


def test_kinds_are_real_types() -> None:
    assert is_a(Touchy(), Touchy)
    assert not is_a(Touchy(), (int, nn.Module))
    assert is_a(TouchyList(), list)
    assert is_a(True, int)


def test_one_attribute_without_its_property() -> None:
    assert attribute(Touchy(x=1), "x") == 1
    assert attribute(Touchy(), "missing", 7) == 7
    assert isinstance(attribute(Touchy(), "__class__"), property)


def test_functions_below_decorators() -> None:
    def inner() -> None: ...

    @functools.wraps(inner)
    def outer() -> None: ...

    endless: Any = lambda: None  # noqa: E731
    endless.__wrapped__ = endless
    assert unwrapped(staticmethod(outer)) is inner
    assert unwrapped(classmethod(inner)) is inner
    assert is_a(unwrapped(Touchy()), Touchy)
    assert unwrapped(endless) is None


def test_tensors_of_what_a_forward_returned() -> None:
    one, two, three, four = (torch.ones(1) for _ in range(4))
    nested = Touchy(
        first=TouchyDict(a=one), second=TouchyList([two, (three, Touchy(x=[four]))]), third=TouchyModule("x")
    )
    assert [id(found) for found in tensors_in([nested], EVERYTHING)] == [id(each) for each in (one, two, three)]
    assert list(tensors_in([Touchy(x=four)], EVERYTHING)) == [four]


def test_names_of_modules_among_touchy_variables() -> None:
    module, inner = nn.Sequential(nn.Linear(1, 1)), nn.Linear(1, 1)
    touchy, listed = Touchy(), TouchyList([inner])
    keyed = TouchyDict({1: touchy})
    assert (root_name(module), path_name(module[0]), held_name(inner)) == ("module", "module.0", "inner")
    del inner
    assert held_name(list.__getitem__(listed, 0)) == "listed[0]"
    assert keyed is not touchy


def test_variables_of_a_touchy_self() -> None:
    import sys

    def method(self: Any) -> dict[str, Any]:
        return dict(variables(sys._getframe()))

    assert method(Touchy(x=1))["self.x"] == 1


def test_arrays_by_address_and_numbers_as_float32() -> None:
    class Array(numpy.ndarray):
        __array_interface__ = property(_runs)  # type: ignore[assignment]

    tensor = torch.rand(4)
    assert _address(tensor.numpy()) == tensor.data_ptr()
    assert _address(tensor.numpy().view(Array)) == tensor.data_ptr()
    assert _address(Touchy()) is None
    number = 0.123456789012345
    assert _floats(number) == _floats([torch.tensor(number).item()]) != []
    assert _floats([0.5, 3.0, float("inf"), Touchy()]) == []
    assert _floats([1e300 / 7, 2.0**200]) == []


class Batch(NamedTuple):
    tokens: torch.Tensor
    name: str = "left"


@dataclass(frozen=True)
class Sample:
    batch: Batch
    weight: float

    __init__ = _runs


def test_records_are_made_again_without_their_classes() -> None:
    sample: Any = object.__new__(Sample)
    attributes(sample).update(batch=Batch(torch.ones(2)), weight=0.5)
    made: Any = fresh(sample)
    copied: Any = copies_of([sample], records=True)[0]
    for each in (made, copied):
        assert type(each) is Sample
        assert type(each.batch) is Batch
        assert (each.weight, each.batch.name) == (0.5, "left")
        assert torch.equal(each.batch.tokens, sample.batch.tokens)
        assert each.batch.tokens is not sample.batch.tokens
    attributes(sample)["weight"] = Touchy()
    assert copies_of([sample], records=True) is None
    assert copies_of([Touchy(tokens=torch.ones(2))], records=True) is None
