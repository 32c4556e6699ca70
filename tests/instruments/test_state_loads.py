"""What a `load_state_dict` leaves as it was."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from autograd_doctor.events.data import StateLoaded
from autograd_doctor.instruments.data.state_loads import StateLoads
from autograd_doctor.signals.states import StateLoad
from tests.inventing import Invented, inventing


def loaded(run: Invented, module: nn.Module, state: dict[str, Any]) -> list[StateLoaded]:
    missing, unexpected = module.load_state_dict(state, strict=False)
    run.signals.states.loaded.send(StateLoad(module, state, missing, unexpected))
    return run.of(StateLoaded)


def test_a_prefix_that_is_too_much():
    model = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 1))
    state = {f"a.b.{key}": value for key, value in model.state_dict().items()}
    with inventing(StateLoads) as run:
        (event,) = loaded(run, model, state)
    assert (event.renamed, event.prefix, event.fitting, event.nested_in) == ("remove", "a.b.", 4, "")
    assert (event.keys, event.elements, event.loaded_keys, event.loaded_elements) == (4, 11, 0, 0)
    assert (event.given_keys, event.given_elements, event.missing_keys, event.unexpected_keys) == (4, 11, 4, 4)
    assert (event.name, event.missing[0], event.unexpected[0]) == ("module", "0.weight", "a.b.0.weight")
    assert event.location is not None


def test_a_prefix_that_lacks():
    model = nn.ModuleDict({"encoder": nn.Linear(3, 2), "head": nn.Linear(2, 1)})
    with inventing(StateLoads) as run:
        (event,) = loaded(run, model, dict(nn.Linear(3, 2).state_dict()))
    assert (event.renamed, event.prefix, event.fitting) == ("add", "encoder.", 2)


def test_keys_that_fit_by_name_alone_explain_nothing():
    with inventing(StateLoads) as run:
        (event,) = loaded(run, nn.Linear(3, 2), {"net.weight": torch.ones(9), "net.bias": torch.ones(9)})
    assert (event.renamed, event.prefix, event.fitting, event.nested_in) == ("", "", 0, "")


def test_a_state_inside_a_checkpoint():
    model = nn.BatchNorm1d(3)
    with inventing(StateLoads) as run:
        (event,) = loaded(run, model, {"epoch": 3, "best": {"x": 1}, "weights": dict(model.state_dict())})
    assert (event.nested_in, event.fitting, event.given_keys) == ("weights", 4, 0)


def test_loads_that_leave_nothing_over_on_one_side_are_not_told():
    with inventing(StateLoads) as run:
        model = nn.Linear(3, 2)
        assert loaded(run, model, dict(model.state_dict())) == []
        assert loaded(run, model, {"bias": torch.ones(2)}) == []
        assert loaded(run, model, {**model.state_dict(), "more": torch.ones(2)}) == []


def test_an_empty_state_and_the_load_that_follows_are_told():
    with inventing(StateLoads) as run:
        model = nn.Linear(3, 2)
        loaded(run, model, {})
        first, second = loaded(run, model, dict(model.state_dict()))
    assert (first.module, first.missing_keys, first.loaded_keys) == (second.module, 2, 0)
    assert (second.missing_keys, second.loaded_keys) == (0, 2)


def test_what_is_missing_may_be_there_under_another_name() -> None:
    model = nn.ModuleDict({"encoder": nn.Linear(3, 2), "head": nn.Sequential(nn.Linear(2, 5), nn.Linear(5, 2))})
    state = {**model.state_dict(), "decoder.0.weight": torch.ones(5, 2), "decoder.0.bias": torch.ones(7)}
    kept = {key: value for key, value in state.items() if not key.startswith("head")}
    with inventing(StateLoads) as run:
        (event,) = loaded(run, model, kept)
    assert (event.missing_keys, event.unexpected_keys, event.alike) == (4, 2, 1)


def test_whether_the_program_goes_on_with_what_it_was_told():
    load = StateLoad(nn.Linear(3, 2), {"other": torch.zeros(1)}, ["weight", "bias"], ["other"])
    with inventing(StateLoads) as run:
        run.signals.states.loaded.send(load)
        kept: object = run.signals.states.loaded.send(load)
        assert kept is None
    assert [event.looked_at for event in run.of(StateLoaded)] == [False, True]


def test_whole_parts_are_told_by_their_names():
    def model(head: str) -> nn.ModuleDict:
        trunk = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
        return nn.ModuleDict({"trunk": trunk, "bare": nn.ReLU(), head: nn.Linear(2, 1)})

    with inventing(StateLoads) as run:
        loaded(run, model("new"), dict(model("old").state_dict()))
        without_mean = {key: value for key, value in model("old").state_dict().items() if "mean" not in key}
        loaded(run, model("new"), without_mean)
        loaded(
            run,
            nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 1)),
            {**nn.Sequential(nn.Linear(3, 2)).state_dict(), "x": torch.ones(1)},
        )
    assert [event.parts for event in run.of(StateLoaded)] == [["trunk"], [], []]


@pytest.mark.parametrize(
    ("key", "is_shifted"), [("blocks.2.weight", True), ("blocks.1.weight", True), ("other.0.weight", False)]
)
def test_places_of_a_sequence_that_have_moved(key, is_shifted):
    model = nn.ModuleDict({"blocks": nn.Sequential(nn.Linear(3, 2), nn.ReLU(), nn.ReLU(), nn.Linear(2, 1))})
    first = {"blocks.0.weight": torch.ones(2, 3), "blocks.0.bias": torch.ones(2)}
    with inventing(StateLoads) as run:
        (event,) = loaded(run, model, {**first, key: torch.ones(1, 2)})
    assert event.shifted is is_shifted
