"""Modules are introduced under the names that the user gave them."""

from __future__ import annotations

import torch
from torch import nn

from autograd_doctor.events.subjects import ModuleSeen, ParameterSeen
from autograd_doctor.instruments.spine.module_register import ModuleRegister
from autograd_doctor.instruments.spine.modules import Modules
from tests.inventing import Invented, inventing


def seen(run: Invented) -> list[tuple[int, str, str, int | None, bool, str]]:
    return [
        (event.module, event.name, event.kind, event.parent, event.registered, event.holder)
        for event in run.of(ModuleSeen)
    ]


def test_a_root_is_introduced_once():
    model = nn.Sequential(nn.Linear(1, 1), nn.Dropout(0.5))
    with inventing(ModuleRegister) as run:
        register = run.find(ModuleRegister)
        assert register.root(model) == register.root(model) == 0
        assert seen(run) == [(0, "model", "Sequential", None, True, "")]
        (event,) = run.of(ModuleSeen)
        assert (event.mode_dependent, event.step) == (["model.1"], 0)
        assert event.location is not None
        names = {each.parameter: each.name for each in run.of(ParameterSeen)}
        assert [names[number] for number in event.parameters] == ["model.0.weight", "model.0.bias"]


def test_a_root_tells_what_it_is_made_of():
    model = nn.Sequential(nn.Linear(1, 1), nn.Sequential(nn.ReLU(), nn.Linear(1, 2, bias=False)))
    with inventing(ModuleRegister) as run:
        run.find(ModuleRegister).root(model)
        (event,) = run.of(ModuleSeen)
    names = {each.parameter: each.name for each in run.of(ParameterSeen)}
    assert [(part.name, part.kind, [names[number] for number in part.parameters]) for part in event.parts] == [
        ("model", "Sequential", []),
        ("model.0", "Linear", ["model.0.weight", "model.0.bias"]),
        ("model.1", "Sequential", []),
        ("model.1.0", "ReLU", []),
        ("model.1.1", "Linear", ["model.1.1.weight"]),
    ]


def test_modules_without_parameters_that_one_line_makes_share_a_number():
    with inventing(ModuleRegister) as run:
        register = run.find(ModuleRegister)
        numbers = [register.root(nn.MSELoss()) for _ in range(2)]
        numbers.append(register.root(nn.MSELoss()))
        numbers += [register.root(nn.Linear(1, 1)) for _ in range(2)]
        assert numbers == [0, 0, 1, 2, 3]
        for kind in (nn.L1Loss, nn.MSELoss):
            register.root(kind())
        assert [name for _, name, *_ in seen(run)] == ["MSELoss", "MSELoss", "Linear", "Linear", "L1Loss", "MSELoss"]


class Lit(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner, self.heads = nn.Linear(1, 1), [nn.Linear(1, 1), nn.Linear(1, 1)]
        self.losses = [nn.MSELoss()]

    def training_step(self, register: ModuleRegister) -> None:
        register.root(self.inner)
        register.root(self.heads[0])
        register.root(self.heads[1])
        register.root(self.losses[0])


def test_a_method_of_a_module_holds_strays_as_its_forward_does():
    lit = Lit()
    with inventing(ModuleRegister) as run:
        lit.training_step(run.find(ModuleRegister))
        assert seen(run) == [
            (0, "self.inner", "Linear", None, True, ""),
            (1, "lit", "Lit", None, True, ""),
            (2, "self.heads[0]", "Linear", 1, False, "self.heads[0]"),
            (3, "self.heads[1]", "Linear", 1, False, "self.heads[1]"),
            (4, "self.losses[0]", "MSELoss", None, True, ""),
        ]
        assert [event.location is None for event in run.of(ModuleSeen)] == [False, True, False, False, False]


def test_a_stray_met_inside_a_root():
    root, strays = nn.Sequential(nn.Linear(1, 1)), [nn.Linear(1, 1), nn.Linear(1, 1), nn.Bilinear(1, 1, 1)]
    with inventing(ModuleRegister) as run:
        register = run.find(ModuleRegister)
        number = register.root(root)
        for step in range(2):
            for stray in strays if step == 0 else [nn.Linear(1, 1)]:
                register.met_inside(root, stray, None)
            run.train(torch.optim.SGD(root.parameters(), lr=0.1))
        assert [(module, kind, parent, registered) for module, _, kind, parent, registered, _ in seen(run)][1:] == [
            (1, "Linear", number, False),
            (2, "Linear", number, False),
            (3, "Bilinear", number, False),
        ], "what a line calls in later steps may be built anew each time"
        register.met_inside(root, strays[0], root)
        assert len(seen(run)) == 4, "it is known by now"


def test_the_parent_of_a_stray_is_the_module_that_called_it():
    root, stray, other, third = nn.Sequential(nn.Linear(1, 1)), nn.Linear(1, 1), nn.Linear(1, 1), nn.Linear(1, 1)
    with inventing(ModuleRegister) as run:
        register = run.find(ModuleRegister)
        register.root(root)
        register.met_inside(root, stray, root[0])
        assert seen(run)[1:] == [
            (1, "root.0", "Linear", 0, True, ""),
            (2, "stray", "Linear", 1, False, "stray"),
        ]
        register.met_inside(root, other, stray)
        register.met_inside(root, third, root)
        assert [(name, parent) for _, name, _, parent, *_ in seen(run)][3:] == [("other", 2), ("third", 0)]


def test_the_parent_may_be_a_stray_that_nobody_introduced():
    root, parent, stray = nn.Sequential(), nn.Linear(1, 1), nn.Linear(1, 1)
    with inventing(ModuleRegister) as run:
        register = run.find(ModuleRegister)
        register.root(root)
        register.met_inside(root, stray, parent)
        assert seen(run)[1][:4] == (1, "parent", "Linear", 0)


def test_a_layer_that_its_root_was_given_since_names_its_parameters():
    root = nn.Sequential(nn.Linear(1, 1))
    with inventing(ModuleRegister) as run:
        register = run.find(ModuleRegister)
        register.root(root)
        root.append(late := nn.Linear(1, 1))
        register.met_inside(root, late, None)
        assert [event.name for event in run.of(ParameterSeen)][2:] == ["root.1.weight", "root.1.bias"]
        assert len(seen(run)) == 1


def test_a_root_that_nobody_introduced_names_them_as_well():
    root = nn.Sequential(nn.Linear(1, 1, bias=False))
    with inventing(ModuleRegister) as run:
        run.find(ModuleRegister).met_inside(root, root[0], None)
        assert [event.name for event in run.of(ParameterSeen)] == ["root.0.weight"]
        assert run.of(ModuleSeen) == []


def test_parameters_that_come_to_life_in_the_first_forward():
    lazy = nn.Sequential(nn.LazyLinear(2))
    with inventing(ModuleRegister) as run:
        register = run.find(ModuleRegister)
        register.complete(lazy)
        register.root(lazy)
        register.complete(lazy)
        assert run.of(ParameterSeen) == []
        assert run.of(ModuleSeen)[0].parameters == []
        with torch.no_grad():
            lazy(torch.ones(1, 3))
        register.complete(lazy)
        register.complete(lazy)
        assert [event.name for event in run.of(ParameterSeen)] == ["lazy.0.weight", "lazy.0.bias"]


def test_a_compiled_module_names_its_parameters_as_the_original_does():
    model = nn.Linear(1, 1)
    wrapper = nn.Module()
    wrapper._orig_mod = model
    with inventing(ModuleRegister) as run:
        run.find(ModuleRegister).root(wrapper)
        assert [event.name for event in run.of(ParameterSeen)] == ["wrapper.weight", "wrapper.bias"]


def test_names_of_modules_inside_a_root():
    root, stray = nn.Sequential(nn.Linear(1, 1), nn.Dropout(0.1)), nn.Dropout(0.2)
    with inventing(ModuleRegister) as run:
        register = run.find(ModuleRegister)
        assert register.names(root, []) == []
        assert register.names(root, [root[1]]) == ["Sequential.1"]
        register.root(root)
        assert register.names(root, [root[1], stray, root]) == ["root.1", "Dropout", "root"]


def test_a_module_is_called_like_its_parameters():
    part = nn.BatchNorm1d(1)
    whole = nn.Sequential(part)
    with inventing(ModuleRegister) as run:
        register = run.find(ModuleRegister)
        register.root(part)
        register.root(whole)
        assert register.names(whole, [part]) == ["part"]
        assert run.of(ModuleSeen)[1].mode_dependent == ["part"]
        assert run.find(Modules).name_of(1) == "whole"
