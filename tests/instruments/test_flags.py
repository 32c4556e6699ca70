"""Attributes that torch does not read: seen where they are set, and kept as Python keeps them."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
import torch
from torch import nn

from autograd_doctor.events.connectivity import FlagIgnored
from autograd_doctor.instruments.connectivity.flags import Flags
from autograd_doctor.instruments.spine.optimizer_steps import OptimizerSteps
from tests.watching import Recorded, watching


def after_a_step(given: Any, **flags: bool) -> Recorded:
    """The flags are set on a model, and on a weight of it, before a step."""
    model = nn.Linear(2, 1)
    with watching(Flags, OptimizerSteps) as events:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        given(model, **flags)
        model(torch.ones(1, 2)).sum().backward()
        optimizer.step()
    assert not events.failures
    return events


def on_module(model: Any, **flags: bool) -> None:
    for name, value in flags.items():
        setattr(model, name, value)


def on_weight(model: Any, **flags: bool) -> None:
    on_module(model.weight, **flags)


def on_both(model: Any, **flags: bool) -> None:
    on_module(model, **flags)
    model.bias.requires_grad_(False)


def test_a_module_has_no_such_flag() -> None:
    (event,) = after_a_step(on_module, requires_grad=False).of(FlagIgnored)
    assert (event.holder, event.name, event.asked, len(event.parameters)) == ("module", "requires_grad", False, 2)
    assert event.location is not None


def test_a_tensor_has_it_under_another_name() -> None:
    (event,) = after_a_step(on_weight, require_grad=False).of(FlagIgnored)
    assert (event.holder, len(event.parameters)) == ("tensor", 1)
    assert not after_a_step(on_weight, require_grad=True).of(FlagIgnored)


def test_where_some_are_frozen_the_program_has_seen_to_it() -> None:
    assert not after_a_step(on_both, requires_grad=False).of(FlagIgnored)


@pytest.mark.parametrize("holder", [nn.Linear(2, 1), torch.ones(2), nn.Parameter(torch.ones(2))])
def test_python_keeps_what_is_set_as_it_always_does(holder: Any) -> None:
    with watching(Flags):
        with pytest.raises(AttributeError, match=f"'{type(holder).__name__}' object has no attribute 'require_grad'"):
            holder.require_grad  # noqa: B018
        assert not hasattr(holder, "require_grad")
        holder.require_grad = False
        assert holder.require_grad is False
        if type(holder) is not nn.Parameter:  # whose copies keep nothing that was set on it
            assert copy.deepcopy(holder).require_grad is False
        assert pickle.loads(pickle.dumps(holder)).require_grad is False
    assert vars(holder)["require_grad"] is False
    with watching(Flags):
        del holder.require_grad
        with pytest.raises(AttributeError):
            del holder.require_grad
    assert not hasattr(nn.Module, "requires_grad")
    assert not hasattr(torch.Tensor, "require_grad")


def test_a_class_of_the_program_keeps_its_own() -> None:
    class Own(nn.Module):
        @property
        def requires_grad(self) -> bool:
            return False

    with watching(Flags):
        assert Own().requires_grad is False
        assert torch.overrides.get_overridable_functions()
