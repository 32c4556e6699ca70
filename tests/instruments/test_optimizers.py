"""Who is who among the optimizers."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn
from torch.optim import SGD, Adam

from autograd_doctor.events.subjects import OptimizerBuilt, ParametersAdded, ParameterSeen
from autograd_doctor.instruments.spine import optimizers as module
from autograd_doctor.instruments.spine.optimizers import Optimizers, setting
from autograd_doctor.signals.optimizers import GroupAdded
from tests.inventing import inventing


def weight() -> nn.Parameter:
    return nn.Parameter(torch.ones(2))


def test_a_setting_is_a_number():
    assert setting({"lr": 0.5}, "lr") == 0.5
    assert setting({}, "lr") == 0.0
    assert math.isnan(setting({"lr": None}, "lr"))


def test_an_optimizer_is_introduced_when_it_is_built_and_named_when_it_is_held():
    a, b = weight(), weight()
    with inventing(Optimizers) as run:
        optimizers = run.find(Optimizers)
        groups = [{"params": [a], "momentum": 0.9, "weight_decay": 0.25}, {"params": [b], "lr": 0.5}]
        held = [SGD(groups, lr=0.1)]
        assert optimizers.get(held[0]) is None
        run.signals.optimizers.built.send(held[0])
        (built,) = run.of(OptimizerBuilt)
        assert (built.optimizer, built.name, built.kind) == (0, "", "SGD")
        assert built.location is not None
        assert (built.rebuilds, built.duplicates) == (None, [])
        first, second = built.groups
        assert (first.parameters, first.lr, first.momentum, first.weight_decay) == ([0], 0.1, 0.9, 0.25)
        assert (second.parameters, second.lr, second.momentum) == ([1], 0.5, 0.0)
        assert len(run.of(ParameterSeen)) == 2, "its parameters are introduced before it"
        sgd = held.pop()
        assert (optimizers.get(sgd), optimizers.known(sgd), optimizers.known(sgd)) == (0, 0, 0)
        assert [event.name for event in run.of(OptimizerBuilt)] == ["", "sgd"]
        assert run.of(OptimizerBuilt)[1].location == built.location


def test_momentum_of_an_optimizer_that_calls_it_a_beta():
    with inventing(Optimizers) as run:
        run.find(Optimizers).number(Adam([weight()], betas=(0.75, 0.9)))
        run.find(Optimizers).number(Adam([weight()], betas=(0.0, 0.9)))
        assert [event.groups[0].momentum for event in run.of(OptimizerBuilt)] == [0.75, 0.0]


@pytest.mark.parametrize(
    "settings",
    [
        {"eps": (None, 1e-3), "lr": 0.1},
        {"betas": 0.9, "eps": None, "lr": [0.1]},
        {"betas": None, "momentum": "nesterov", "weight_decay": (0.1, 0.2)},
        {"betas": (None, 0.9), "lr": torch.ones(2)},
    ],
)
def test_settings_of_any_kind_are_taken_as_they_come(settings):
    class Odd(torch.optim.Optimizer):
        def __init__(self, parameters):
            super().__init__(parameters, settings)

    with inventing(Optimizers) as run:
        run.find(Optimizers).number(Odd([weight()]))
        (built,) = run.of(OptimizerBuilt)
        assert len(built.groups) == 1


def test_naming_is_given_up_after_some_attempts():
    with inventing(Optimizers) as run:
        optimizers, held = run.find(Optimizers), {(): SGD([weight()], lr=0.1)}
        for _ in range(module._ATTEMPTS - 1):
            optimizers.known(held[()])
        sgd = held.pop(())
        optimizers.known(sgd)
        late = {(): SGD([weight()], lr=0.1)}
        for _ in range(module._ATTEMPTS):
            optimizers.known(late[()])
        adam = late.pop(())
        optimizers.known(adam)
        assert [event.name for event in run.of(OptimizerBuilt)] == ["", "sgd", ""]


def test_one_that_never_steps_has_a_name_too():
    with inventing(Optimizers) as run:
        kept = SGD([weight()], lr=0.1)
        run.signals.optimizers.built.send(kept)
        run.find(Optimizers).introduce()
        run.find(Optimizers).introduce()
        assert [event.name for event in run.of(OptimizerBuilt)][1:] == ["kept"]


def test_an_optimizer_that_came_out_of_a_pickle_is_introduced_without_a_line():
    with inventing(Optimizers) as run:
        sgd = SGD([weight()], lr=0.1)
        assert run.find(Optimizers).known(sgd) == 0
        assert run.of(OptimizerBuilt)[0].location is None
        assert list(run.find(Optimizers).living()) == [(0, sgd)]


def test_parameters_that_an_optimizer_was_given():
    a, b, later, unknown = (weight() for _ in range(4))
    with inventing(Optimizers) as run:
        optimizers = run.find(Optimizers)
        sgd = SGD([a, b], lr=0.1)
        run.signals.optimizers.group_added.send(GroupAdded(sgd, {"params": [a, b]}))
        assert run.of(ParametersAdded) == [], "its constructor adds groups as well"
        run.signals.optimizers.built.send(sgd)
        numbers = [run.number(each) for each in (a, b, later, unknown)]
        assert [optimizers.holds(number) for number in numbers] == [True, True, False, False]
        run.signals.optimizers.group_added.send(GroupAdded(sgd, {"params": [later], "lr": 0.01}))
        assert [optimizers.holds(number) for number in numbers] == [True, True, True, False]
        (added,) = run.of(ParametersAdded)
        assert (added.optimizer, added.group.parameters, added.group.lr) == (0, [numbers[2]], 0.01)
        assert added.location is not None


def test_an_optimizer_over_parameters_of_an_earlier_one():
    a, b, c = weight(), weight(), weight()
    with inventing(Optimizers) as run:
        optimizers = [SGD(each, lr=0.1) for each in ([a], [b], [c, b])]
        for each in optimizers:
            run.signals.optimizers.built.send(each)
        assert [event.rebuilds for event in run.of(OptimizerBuilt)] == [None, None, 1]


def test_a_parameter_that_was_given_twice():
    a, b = weight(), weight()
    with inventing(Optimizers) as run:
        sgd = SGD([a, b], lr=0.1)
        sgd.param_groups.append({"params": [b]})
        run.signals.optimizers.built.send(sgd)
        assert run.of(OptimizerBuilt)[0].duplicates == [run.number(b)]
