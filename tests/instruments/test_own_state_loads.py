"""Modules that are loaded with the values that they have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from autograd_doctor.events.data import OwnStateLoaded
from autograd_doctor.instruments.data.own_state_loads import OwnStateLoads
from autograd_doctor.reading.state_keys import swap
from tests.watching import watching

State = dict[str, torch.Tensor]


def named(*names: str) -> nn.ModuleDict:
    return nn.ModuleDict({name: nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2)) for name in names})


def told(load: Callable[[nn.Module, State], Any], *names: str) -> list[OwnStateLoaded]:
    with watching(OwnStateLoads) as events:
        load(named("body"), named(*names).state_dict())
    assert not events.failures
    return events.of(OwnStateLoaded)


def picked(net: nn.Module, stored: State) -> None:
    own = net.state_dict()
    own.update({key: value for key, value in stored.items() if key in own})
    net.load_state_dict(own)


def test_nothing_was_picked() -> None:
    (event,) = told(picked, "trunk")
    assert (event.at_hand, event.theirs, event.ours, event.fitting) == ("stored", "trunk.", "body.", 4)
    assert (event.name, event.keys, event.given_keys) == ("net", 4, 4)


def test_something_was_picked() -> None:
    assert told(picked, "trunk", "body") == []


def written_by_hand(net: nn.Module, stored: State) -> None:
    own = net.state_dict()
    for mine, theirs in zip(own.values(), stored.values(), strict=True):
        mine.copy_(theirs)
    net.load_state_dict(own)


def has_learned(net: nn.Module, stored: State) -> None:
    for parameter in net.parameters():
        parameter.grad = torch.zeros_like(parameter)
    picked(net, stored)


def loaded_at_last(net: nn.Module, stored: State) -> None:
    picked(net, stored)
    net.load_state_dict({key.replace("trunk", "body"): value for key, value in stored.items()})


def of_another(net: nn.Module, stored: State) -> None:
    picked(net, stored)
    named("trunk").load_state_dict({key: value.clone() for key, value in stored.items()})


def of_other_shapes(net: nn.Module, stored: State) -> None:
    stored = {key: torch.zeros(7) for key in stored}
    picked(net, stored)


@pytest.mark.parametrize("load", [written_by_hand, has_learned, loaded_at_last, of_another, of_other_shapes])
def test_what_is_no_mismatch(load: Callable[[nn.Module, State], Any]) -> None:
    assert told(load, "trunk") == []


def test_the_beginnings_that_are_swapped() -> None:
    own = {"body.0.weight": (4, 3), "body.0.bias": (4,), "head.bias": (2,)}
    assert swap(own, {"a.b.0.weight": (4, 3), "a.b.0.bias": (4,), "tail.bias": (9,)}) == ("a.b.", "body.", 2)
    assert swap(own, {"0.weight": (4, 3)}) == ("", "body.", 1)
    assert swap(own, {"other": (1,)}) == ("", "", 0)
