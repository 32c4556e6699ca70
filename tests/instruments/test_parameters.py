"""Who is who among the leaves that can learn."""

from __future__ import annotations

from types import SimpleNamespace

import torch
from torch import nn

from autograd_doctor.events.subjects import ParameterSeen
from autograd_doctor.instruments.spine.modules import Modules
from autograd_doctor.instruments.spine.parameters import Parameters
from tests.inventing import inventing
from tests.watching import watching


def test_numbers_are_given_once_and_not_guessed():
    first, second = torch.ones(1), torch.ones(1)
    with inventing(Parameters) as run:
        parameters = run.find(Parameters)
        assert parameters.get(first) is None
        assert [parameters.number(each) for each in (first, second, first)] == [0, 1, 0]
        assert (parameters.get(second), parameters.name_of(1)) == (1, "parameter 1")
        assert [number for number, _ in parameters.living()] == [0, 1]
        del first
        assert [number for number, _ in parameters.living()] == [1]
        assert run.of(ParameterSeen) == []


def test_leaves_are_introduced_when_asked_for_by_the_names_of_that_moment():
    with inventing(Parameters) as run:
        parameters = run.find(Parameters)
        weights = [torch.ones(2, 3, requires_grad=True), nn.Parameter(torch.ones(1, dtype=torch.float64), False)]
        model = nn.Sequential(nn.Linear(2, 1))
        for tensor in (*weights, model[0].bias):
            parameters.number(tensor)
        parameters.introduce()
        seen = {event.parameter: event for event in run.of(ParameterSeen)}
        assert {number: event.name for number, event in seen.items()} == {
            0: "weights[0]",
            1: "weights[1]",
            2: "model.0.bias",
            3: "model.0.weight",
        }
        assert (seen[0].shape, seen[0].dtype, seen[0].kind, seen[0].requires_grad) == (
            [2, 3],
            "float32",
            "tensor",
            True,
        )
        assert (seen[1].dtype, seen[1].kind, seen[1].requires_grad) == ("float64", "parameter", False)
        assert (seen[0].module, seen[0].module_kind) == (None, "")
        assert parameters.name_of(0) == "weights[0]"
        parameters.introduce()
        assert len(run.of(ParameterSeen)) == 4


def test_a_leaf_that_nothing_names_is_told_by_its_shape_until_a_module_names_it():
    with inventing(Parameters) as run:
        parameters = run.find(Parameters)
        hidden = SimpleNamespace(deep=SimpleNamespace(layer=nn.Linear(3, 1, bias=False)))
        number = parameters.number(hidden.deep.layer.weight)
        parameters.introduce()
        assert parameters.name_of(number) == "tensor of shape (1, 3)"
        assert parameters.name_module(hidden.deep.layer, "found") == [number]
        assert parameters.name_of(number) == "found.weight"
        assert parameters.name_module(hidden.deep.layer, "again") == [number]
        assert parameters.name_of(number) == "found.weight", "a name is kept"
        assert [event.name for event in run.of(ParameterSeen)] == ["tensor of shape (1, 3)", "found.weight"]


def test_a_module_without_a_name_names_its_parameters_by_their_paths():
    with inventing(Parameters) as run:
        run.find(Parameters).name_module(nn.Linear(1, 1), "")
        assert [event.name for event in run.of(ParameterSeen)] == ["weight", "bias"]


def test_a_tensor_that_is_a_plain_attribute_of_a_module_tells_whose():
    def attached(holder: SimpleNamespace) -> torch.Tensor:
        """Out of sight of the frames of the test."""
        holder.model = nn.Sequential(nn.Linear(1, 1))
        holder.model[0].scale = torch.ones(1, requires_grad=True)
        return holder.model[0].scale

    holder = SimpleNamespace(inner=SimpleNamespace())
    with inventing(Parameters) as run:
        number = run.number(attached(holder.inner))
        module = run.find(Modules).add(holder.inner.model, "net")
        run.find(Parameters).introduce()
        (seen,) = run.of(ParameterSeen)
        assert (seen.parameter, seen.name, seen.module, seen.module_kind) == (number, "net.0.scale", module, "Linear")


def test_a_parameter_in_the_place_of_another_replaces_it_whatever_the_module_is_called():
    def introduced_as(model: nn.Module, prefix: str) -> dict[int, tuple[str, int | None]]:
        before = len(run.of(ParameterSeen))
        run.find(Parameters).name_module(model, prefix)
        return {event.parameter: (event.name, event.replaces) for event in run.of(ParameterSeen)[before:]}

    with inventing(Parameters) as run:
        model, other = (nn.Sequential(nn.Linear(2, 2, bias=False), nn.Linear(2, 1, bias=False)) for _ in range(2))
        assert introduced_as(model, "model") == {0: ("model.0.weight", None), 1: ("model.1.weight", None)}
        model[1] = nn.Linear(2, 3, bias=False)
        assert introduced_as(model, "net") == {2: ("net.1.weight", 1)}
        assert introduced_as(other, "model") == {3: ("model.0.weight", None), 4: ("model.1.weight", None)}


def layer() -> nn.Linear:
    return nn.Linear(2, 1)


def built_by_a_function() -> nn.Linear:
    return layer()


def test_where_a_parameter_was_made_and_which_call_led_there() -> None:
    with watching(Parameters) as run:
        made, here = built_by_a_function(), nn.Parameter(torch.ones(1))
        parameters = run.find(Parameters)
        for tensor in (made.weight, here):
            parameters.number(tensor)
        parameters.introduce()
    weight, own = run.of(ParameterSeen)[0], run.of(ParameterSeen)[-1]
    assert weight.registered_at is not None
    assert weight.registered_at.line == layer.__code__.co_firstlineno + 1
    assert weight.called_from is not None
    assert weight.called_from != weight.registered_at
    assert weight.called_from.line != built_by_a_function.__code__.co_firstlineno + 1
    assert own.called_from is None
