"""Who is who among the modules."""

from __future__ import annotations

import torch
from torch import nn

from autograd_doctor.instruments.spine.modules import Modules
from tests.inventing import inventing


def test_modules_have_numbers_and_names():
    first, second = nn.Linear(1, 1), nn.Linear(1, 1)
    with inventing(Modules) as run:
        modules = run.find(Modules)
        assert modules.get(first) is None
        assert (modules.add(first, "first"), modules.add(second, "second")) == (0, 1)
        assert (modules.get(second), modules.name_of(1)) == (1, "second")
        assert list(modules.living()) == [(0, first), (1, second)]
        del first
        assert [number for number, _ in modules.living()] == [1]


def test_the_attribute_under_which_a_module_holds_a_plain_tensor():
    other, model, scale = nn.Linear(1, 1), nn.Sequential(nn.Tanh()), torch.ones(1)
    with inventing(Modules) as run:
        modules = run.find(Modules)
        modules.add(other, "other")
        modules.add(model, "model")
        assert modules.attribute(scale) is None
        model[0].scale = scale
        assert modules.attribute(scale) == (1, "Tanh", "model.0.scale")


def test_a_module_without_a_name_has_attributes_of_their_own_names():
    model, scale = nn.Tanh(), torch.ones(1)
    model.scale = scale
    with inventing(Modules) as run:
        run.find(Modules).add(model, "")
        assert run.find(Modules).attribute(scale) == (0, "Tanh", "scale")
