"""The catalogue of operations against torch's own: its names exist, and schemas say the same of in-place changes."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.overrides import get_overridable_functions

from autograd_doctor.reading import operation_kinds as kinds

CATALOGUE = {
    name: getattr(kinds, name) for name in vars(kinds) if name.isupper() and isinstance(getattr(kinds, name), frozenset)
}
PLACES = (torch, torch.Tensor, torch.nn.functional, torch._C)
OVERRIDABLE = {
    getattr(function, "__name__", "") for functions in get_overridable_functions().values() for function in functions
}


@pytest.mark.parametrize("group", sorted(CATALOGUE))
def test_every_name_is_one_of_torchs(group: str) -> None:
    strange = {name for name in CATALOGUE[group] if not any(hasattr(place, name) for place in PLACES)}
    assert strange - OVERRIDABLE == set()


def _writes_to_its_first_argument(name: str) -> bool | None:
    """What the schemas say, None if there is none of this name."""
    packet = getattr(torch.ops.aten, name, None)
    if not isinstance(packet, torch._ops.OpOverloadPacket):
        return None
    schemas = [getattr(packet, overload)._schema for overload in packet.overloads() if not overload.endswith("out")]
    firsts = [schema.arguments[0] for schema in schemas if schema.arguments]
    told = [first.alias_info for first in firsts if str(first.type) == "Tensor"]
    return any(alias is not None and alias.is_write for alias in told) if told else None


def test_what_changes_its_input_is_what_the_schemas_say() -> None:
    methods = {name for name in dir(torch.Tensor) if not name.startswith("__")}
    told = {name: _writes_to_its_first_argument(name) for name in methods}
    wrong = {name for name, writes in told.items() if writes is not None and writes != kinds.changes_input(name)}
    assert wrong == {"record_stream", "retain_grad"}  # these write down something about a tensor, and no values


def test_what_changes_values_changes_its_input() -> None:
    assert {name for name in kinds._CHANGES_NO_VALUES if not kinds.changes_input(name)} == set()
    assert not any(kinds.writes(name) for name in kinds._CHANGES_NO_VALUES)
    assert kinds.writes("data.__set__")
    assert kinds.writes("__setitem__")


class Nameless:
    """A callable that has only the name of its class."""

    def __call__(self) -> None: ...


@pytest.mark.parametrize(
    ("function", "kind", "name"),
    [
        (torch.add, kinds.Kind.OPERATION, "add"),
        (torch.Tensor.item, kinds.Kind.ESCAPE, "item"),
        (torch.Tensor.__format__, kinds.Kind.SHOW, "__format__"),
        (torch.Tensor.dim, kinds.Kind.QUIET, "dim"),
        (torch.Tensor.T.__get__, kinds.Kind.OPERATION, "T"),
        (torch.Tensor.grad.__get__, kinds.Kind.QUIET, "grad"),
        (torch.Tensor.grad.__set__, kinds.Kind.OPERATION, "grad.__set__"),
        (torch.Tensor.data.__set__, kinds.Kind.OPERATION, "data.__set__"),
        (torch.Tensor.requires_grad.__set__, kinds.Kind.OPERATION, "requires_grad_"),
        (torch.Tensor.is_leaf.__get__, kinds.Kind.QUIET, "is_leaf"),
        (Nameless(), kinds.Kind.OPERATION, "Nameless"),
    ],
)
def test_functions_are_told_by_what_they_do(function: Any, kind: kinds.Kind, name: str) -> None:
    assert kinds.classify(function) == (kind, name)
