"""What becomes of a `state_dict()`."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn
from torch.optim import SGD

from autograd_doctor.events.lifetime import SnapshotKept
from autograd_doctor.instruments.lifetime import snapshots as module
from autograd_doctor.instruments.lifetime.snapshots import Snapshots
from autograd_doctor.signals.states import StateCall, StateLoad
from tests.inventing import Invented, inventing


def take(run: Invented, of: nn.Module, *, keep_vars: bool = False, raised: bool = False) -> Any:
    """A `state_dict()`, with the calls for the children inside."""
    call = StateCall(of, keep_vars)
    run.signals.states.taking.send(call)
    for child in of.children():
        inner = StateCall(child, keep_vars)
        run.signals.states.taking.send(inner)
        inner.state = child.state_dict()
        run.signals.states.taken.send(inner)
    call.state = None if raised else of.state_dict()
    run.signals.states.taken.send(call)
    return call.state


def step(run: Invented, *moved: nn.Parameter) -> None:
    sgd = SGD([nn.Parameter(torch.ones(1))], lr=0.1)
    with run.backward(torch.ones(())):
        pass
    with run.step(sgd), torch.no_grad():
        for parameter in moved:
            parameter.add_(1)


def told(run: Invented) -> list[tuple[str, int, int]]:
    return [(event.holder, event.taken_in_step, event.step) for event in run.of(SnapshotKept)]


def test_a_snapshot_that_follows_the_weights():
    model = nn.Sequential(nn.Linear(1, 1))
    with inventing(Snapshots) as run:
        step(run)
        best = take(run, model)
        assert told(run) == []
        step(run)
        assert told(run) == [], "nothing has changed"
        step(run, model[0].weight)
        (event,) = run.of(SnapshotKept)
        assert (event.holder, event.taken_in_step, event.step) == ("best", 1, 3)
        assert event.parameters == [run.number(model[0].weight)]
        assert (event.used_at_once, event.loaded_back, event.location is not None) == (False, False, True)
        del best
        step(run, model[0].weight)
        assert len(told(run)) == 1


def test_copies_and_states_that_keep_variables_are_no_snapshots():
    model = nn.Linear(1, 1)
    with inventing(Snapshots) as run:
        kept = take(run, model, keep_vars=True)
        nothing = take(run, model, raised=True)
        copied = {name: value.clone() for name, value in model.state_dict().items()}
        step(run, model.weight)
        assert told(run) == []
        assert kept
        assert copied
        assert nothing is None


def test_aliases_in_containers_and_objects():
    model = nn.Linear(1, 1)
    with inventing(Snapshots) as run:
        state = take(run, model)
        held = SimpleNamespace(best={"weights": dict(state)})
        deep = [[[[dict(state)]]]]
        del state
        step(run, model.weight)
        assert [holder for holder, _, _ in told(run)] == ["held.best['weights']"]
        assert held
        assert deep


def test_one_of_many_values_is_no_snapshot():
    many = nn.Sequential(*(nn.Linear(1, 1, bias=False) for _ in range(3)))
    with inventing(Snapshots) as run:
        state = take(run, many)
        one = [next(iter(state.values()))]
        half = list(state.values())[:2]
        del state
        step(run, *many.parameters())
        assert [holder for holder, _, _ in told(run)] == ["half"]
        assert one
        assert half


def test_two_snapshots_are_told_apart_by_when_they_were_first_seen():
    model = nn.Linear(1, 1)
    with inventing(Snapshots) as run:
        take(run, model)
        first = dict(model.state_dict())
        step(run, model.weight)
        take(run, model)
        second = dict(model.state_dict())
        step(run, model.weight)
        assert told(run) == [("first", 0, 1), ("first", 0, 2), ("second", 1, 2)]
        assert first.keys() == second.keys()


@pytest.mark.parametrize("late", [False, True])
def test_a_snapshot_that_was_pickled_or_loaded_at_once(late):
    model, other = nn.Linear(1, 1), nn.Linear(2, 2)
    with inventing(Snapshots) as run:
        saved = take(run, model)
        if late:
            step(run, model.weight)
        run.signals.states.pickling.send(saved["weight"])
        step(run, model.weight)
        loaded = take(run, model)
        if late:
            step(run, model.weight)
        run.signals.states.loading.send(StateLoad(other, loaded))
        step(run, model.weight)
        step(run, model.weight)
        last = {event.holder: event.used_at_once for event in run.of(SnapshotKept)}
        assert last == ({"saved": False, "loaded": False} if late else {})


def test_weights_that_are_overwritten_at_once():
    model = nn.Linear(1, 1)
    with inventing(Snapshots) as run:
        run.signals.states.pickling.send(model.weight)
        kept = take(run, model)
        run.signals.states.loading.send(StateLoad(model, {}))
        step(run, model.weight)
        assert run.of(SnapshotKept) == []
        assert kept


def test_a_snapshot_that_is_loaded_back_changes_nothing():
    model = nn.Linear(1, 1)
    with inventing(Snapshots) as run:
        best = take(run, model)
        step(run, model.weight)
        run.signals.states.loading.send(StateLoad(model, best))
        assert [event.loaded_back for event in run.of(SnapshotKept)] == [False, True]
        run.signals.states.loading.send(StateLoad(model, {"weight": best["weight"]}))
        run.signals.states.loading.send(StateLoad(model, [best]))
        larger = nn.Sequential(model, nn.Linear(3, 3))
        whole = larger.state_dict()
        run.signals.states.loading.send(StateLoad(larger, whole))
        run.signals.states.loading.send(StateLoad(nn.Linear(1, 1), best))
        assert len(run.of(SnapshotKept)) == 2


def test_what_changed_in_the_step_in_which_it_was_taken_is_not_told():
    model = nn.Linear(1, 1)
    with inventing(Snapshots) as run:
        best = take(run, model)
        with torch.no_grad():
            model.weight.add_(1)
        run.signals.states.loading.send(StateLoad(model, best))
        assert run.of(SnapshotKept) == []


def test_only_the_newest_snapshots_are_remembered():
    model = nn.Linear(1, 1)
    with inventing(Snapshots) as run:
        first = take(run, model)
        for _ in range(module._REMEMBERED - 1):
            take(run, model)
        assert len(run.find(Snapshots)._snapshots) == module._REMEMBERED
        second = take(run, model)
        assert len(run.find(Snapshots)._snapshots) == module._REMEMBERED
        step(run, model.weight)
        assert ("second", 0, 1) in told(run)
        assert first
        assert second


class Callback:
    """Out of sight of the frames: only a framework refers to it."""


def test_a_snapshot_in_an_object_that_no_variable_reaches():
    model = nn.Linear(1, 1)
    with inventing(Snapshots) as run:
        holders = [[[[[Callback()]]]]]
        holders[0][0][0][0][0].state = take(run, model)  # type: ignore[attr-defined]
        step(run, model.weight)
        assert told(run) == [], "it may still come into sight"
        for _ in range(module._SETTLED - 1):
            step(run, model.weight)
        assert [(taken, at) for _, taken, at in told(run)] == [(0, module._SETTLED)]


def test_sparse_parameters_have_no_address():
    model = nn.ParameterList([torch.eye(2).to_sparse(), torch.ones(1)])
    with inventing(Snapshots) as run:
        best = take(run, model)
        step(run, model[1])
        assert [event.parameters for event in run.of(SnapshotKept)] == [[run.number(model[1])]]
        assert best


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("average", lambda entry, weight: (torch.zeros(1, 1), entry)),
        ("average with the weights", lambda entry, weight: (weight, entry)),
        ("layer", lambda entry, weight: (torch.zeros(3, 1), entry)),
        ("write", lambda entry, weight: (entry, torch.zeros(1, 1))),
    ],
)
def test_what_takes_in_the_weights_of_a_view_in_every_step(name: str, read: Any):
    """Only an average does: a layer computes, and what meets the weights themselves was meant to be apart."""
    model = nn.Sequential(nn.Linear(1, 1))
    with inventing(Snapshots) as run:
        view = take(run, model)
        for _ in range(4):
            step(run, model[0].weight)
            given = read(view["0.weight"], model[0].weight)
            result = given[0] @ given[1].T if name == "layer" else given[0]
            run.operated("matmul" if name == "layer" else "add_", result, *given)
        step(run, model[0].weight)
        assert run.of(SnapshotKept)[-1].read_in_a_row == (4 if name == "average" else 0)


@pytest.mark.parametrize(
    ("name", "use", "computed_with", "met_itself"),
    [
        ("norm", lambda entry, weight: (torch.ones(()), entry), False, False),
        ("lerp_", lambda entry, weight: (entry, entry, torch.zeros(1, 2)), False, False),
        ("lerp_", lambda entry, weight: (torch.zeros(1, 2), torch.zeros(1, 2), entry), False, False),
        ("matmul", lambda entry, weight: (torch.zeros(3, 1), torch.zeros(3, 2), entry), True, False),
        ("dot", lambda entry, weight: (torch.ones(()), torch.zeros(1, 2), entry), True, False),
        ("sub", lambda entry, weight: (torch.zeros(1, 2), entry, weight), True, True),
        ("sub", lambda entry, weight: (torch.zeros(1, 2), entry, weight.detach()), True, True),
        ("mul", lambda entry, weight: (torch.zeros(1, 2), entry, entry), False, False),
        ("copy_", lambda entry, weight: (weight, weight, entry), False, False),
    ],
    ids=["norm", "write", "read", "layer", "similarity", "weights", "another alias", "square", "brought back"],
)
def test_what_a_handle_is_computed_with(name: str, use: Any, computed_with: bool, met_itself: bool):
    model = nn.Sequential(nn.Linear(2, 1))
    with inventing(Snapshots) as run:
        view = take(run, model)
        step(run, model[0].weight)
        result, *given = use(view["0.weight"], model[0].weight)
        run.operated(name, result, *given)
        step(run, model[0].weight)
        last = run.of(SnapshotKept)[-1]
        assert (last.computed_with, last.met_itself) == (computed_with, met_itself)


def test_reading_now_and_then_is_not_reading_in_every_step():
    model = nn.Sequential(nn.Linear(1, 1))
    with inventing(Snapshots) as run:
        view = take(run, model)
        for number in range(6):
            step(run, model[0].weight)
            if number % 2:
                run.operated("add_", torch.zeros(1, 1), torch.zeros(1, 1), view["0.weight"])
        step(run, model[0].weight)
        assert run.of(SnapshotKept)[-1].read_in_a_row == 1


def test_several_of_one_line_that_are_held_at_once():
    model = nn.Linear(1, 1)
    with inventing(Snapshots) as run:
        states = []
        for _ in range(4):
            states.append(dict(take(run, model)))
            step(run, model.weight)
        latest = {event.holder: event.together for event in run.of(SnapshotKept)}
    assert latest == {"states[0]": 4, "states[1]": 4, "states[2]": 4, "states[3]": 4}


def test_a_state_that_no_variable_names_is_known_by_what_is_in_it():
    model = nn.Linear(1, 1)
    hidden = lambda kept={}: kept  # noqa: E731
    with inventing(Snapshots) as run:
        for number in range(3):
            hidden()[number] = dict(take(run, model))
            step(run, model.weight)
        state = hidden()[0]
        load = StateLoad(model, state)
        del state
        run.signals.states.loading.send(load)
    assert [event.taken_in_step for event in run.of(SnapshotKept) if event.loaded_back] == [0]
