"""The census of survivors."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.optim import SGD

from autograd_doctor.events.lifetime import Survivor, SurvivorsCounted
from autograd_doctor.instruments.lifetime import census as module
from autograd_doctor.instruments.lifetime.census import Census
from autograd_doctor.instruments.spine import detail
from autograd_doctor.instruments.spine.loaders import Loaders
from tests.inventing import Invented, inventing

FIRST = min(module._CENSUS_STEPS)


def weight() -> nn.Parameter:
    return nn.Parameter(torch.ones(4))


def train(run: Invented, steps: int = 1) -> None:
    sgd = SGD([weight()], lr=0.1)
    for _ in range(steps):
        run.train(sgd)


def up_to(run: Invented, step: int) -> None:
    train(run, step - run.steps)


def counted(run: Invented) -> list[Survivor]:
    return run.of(SurvivorsCounted)[-1].survivors


def test_tensors_that_outlive_their_steps_are_counted_with_what_holds_them():
    losses: list[Any] = []
    a = weight()
    with inventing(Census) as run:
        run.find(Loaders).steps_per_epoch = 7
        for _ in range(FIRST):
            losses.append(run.operated("exp", (a + 1).exp(), a))
            run.nodes.clear()
            train(run)
        (event,) = run.of(SurvivorsCounted)
        assert (event.step, event.steps_per_epoch) == (FIRST, 7)
        assert event.live_bytes == FIRST * 16
        (survivor,) = event.survivors
        assert (survivor.operation, survivor.holder, survivor.holder_kind) == ("exp", "losses", "list")
        assert (survivor.count, survivor.made_in_steps) == (FIRST - module._SETTLED + 1, FIRST - module._SETTLED + 1)
        assert (survivor.tensor_bytes, survivor.graph_bytes, survivor.nodes) == (16 * 3, 16 * 3, 7)
        assert (survivor.has_graph, survivor.freed, survivor.chained, survivor.limit) == (True, False, False, 0)
        assert (survivor.scalars, survivor.module) == (False, "")
        assert survivor.made_at is not None


def test_steps_that_compute_with_what_is_kept_are_counted():
    kept: list[Any] = []
    with inventing(Census) as run:
        for step in range(FIRST):
            kept.append(run.operated("randn", torch.randn(4)))
            if step >= 2:
                run.operated("mul", kept[step - 2] * 2, kept[step - 2])
            train(run)
        (survivor,) = counted(run)
        assert (survivor.operation, survivor.read_in_steps) == ("randn", FIRST - 2)


def test_a_census_is_taken_at_a_few_steps_and_once(monkeypatch):
    monkeypatch.setattr(detail, "FIRST_STEPS", 100)
    with inventing(Census) as run:
        up_to(run, FIRST - 1)
        assert run.of(SurvivorsCounted) == []
        up_to(run, 50)
        steps = [event.step for event in run.of(SurvivorsCounted)]
        assert steps == sorted(step for step in module._CENSUS_STEPS if step <= run.steps)
        assert counted(run) == []
        assert run.of(SurvivorsCounted)[0].steps_per_epoch is None


def test_one_old_tensor_without_a_graph_is_no_survivor():
    with inventing(Census) as run:
        one = run.operated("ones", torch.ones(1))
        several = [run.operated("zeros", torch.zeros(())) for _ in range(3)]
        up_to(run, FIRST)
        (survivor,) = counted(run)
        assert (survivor.operation, survivor.count, survivor.made_in_steps) == ("zeros", 3, 1)
        assert (survivor.has_graph, survivor.scalars, survivor.graph_bytes, survivor.nodes) == (False, True, 0, 0)
        assert one is not None
        assert several


def test_one_old_tensor_with_a_graph_of_few_steps_is_no_survivor():
    a = weight()
    with inventing(Census) as run:
        one = run.operated("mul", a * 2, a)
        train(run)
        two = run.operated("exp", one.exp(), one)
        sparse = run.operated("to_sparse", torch.eye(2).to_sparse())
        up_to(run, FIRST)
        assert counted(run) == []
        assert run.of(SurvivorsCounted)[0].live_bytes == one.nbytes + two.nbytes
        assert sparse is not None


def test_a_series_is_chained_if_its_last_member_reaches_back():
    a = weight()
    with inventing(Census) as run:
        series = [a]
        for _ in range(FIRST):
            series.append(run.operated("mul", series[-1] * a, series[-1], a))
            train(run)
        (survivor,) = counted(run)
        assert (survivor.chained, survivor.count, survivor.made_in_steps, survivor.holder) == (True, 4, 4, "series")


def test_what_is_young_is_no_survivor():
    with inventing(Census) as run:
        up_to(run, FIRST - 1)
        young = [run.operated("zeros", torch.zeros(2)) for _ in range(3)]
        train(run)
        assert counted(run) == []
        assert young


def test_a_graph_that_reaches_back_is_told_though_its_end_is_young():
    a = weight()
    with inventing(Census) as run:
        carried = a
        for _ in range(FIRST):
            carried = run.operated("mul", carried * a, carried, a)
            train(run)
        (survivor,) = counted(run)
        assert (survivor.chained, survivor.count, survivor.made_in_steps) == (True, 1, FIRST)
        assert survivor.holder == "carried"
        assert survivor.stored_at is None, "a variable is not a place where things are put"


def test_what_nothing_of_the_program_holds_is_not_told():
    a = weight()
    with inventing(Census) as run:
        outputs = [run.operated("exp", (a * 1).exp(), a) for _ in range(3)]
        kept = [output.square().sum() for output in outputs]
        outputs.clear()
        up_to(run, FIRST)
        assert counted(run) == []
        assert kept


def test_survivors_that_share_a_storage_are_measured_once():
    with inventing(Census) as run:
        whole = torch.zeros(4)
        parts = [run.operated("select", whole[n]) for n in range(4)]
        up_to(run, FIRST)
        (survivor,) = counted(run)
        assert (survivor.count, survivor.tensor_bytes, survivor.scalars) == (4, 16, True)
        assert parts


@pytest.mark.parametrize("graph", [False, True])
def test_groups_that_keep_most_come_first_and_only_some_are_told(graph):
    a = weight()
    with inventing(Census) as run:
        held = []
        for number in range(module._MOST_GROUPS + 1):
            for _ in range(number + 2):
                output = (a * 1) if graph and number == 0 else torch.zeros(1)
                held.append(run.operated(f"op{number}", output, *([a] if output.requires_grad else [])))
        run.nodes.clear()
        del output
        up_to(run, FIRST)
        operations = [survivor.operation for survivor in counted(run)]
        assert operations == (
            ["op0", "op6", "op5", "op4", "op3", "op2"] if graph else [f"op{n}" for n in range(6, 0, -1)]
        )


def test_graphs_that_a_backward_has_freed():
    a = weight()
    with inventing(Census) as run:
        losses = [run.operated("exp", (a * 1).exp(), a) for _ in range(2)]
        run.nodes.clear()
        for loss in losses:
            loss.sum().backward()
        del loss
        up_to(run, FIRST)
        (survivor,) = counted(run)
        assert (survivor.freed, survivor.graph_bytes) == (True, 0)


def test_what_a_module_holds_names_it():
    model = nn.Linear(1, 1)
    with inventing(Census) as run:
        model.cache = [run.operated("zeros", torch.zeros(1)) for _ in range(2)]
        up_to(run, FIRST)
        (survivor,) = counted(run)
        assert (survivor.holder, survivor.module) == ("model.cache", "model")


def test_whoever_held_survivors_is_not_sought_again_in_a_later_chapter_unless_they_become_more():
    held = [weight()]
    with inventing(Census) as run:
        for _ in range(3):
            held.append(run.operated("ones", torch.ones(1)))
        up_to(run, FIRST)
        assert counted(run)[0].holder == "held"
        memory = run.find(Census).memory()
    found = [*held]
    del held
    with inventing(Census) as run:
        run.find(Census).remember(memory)
        found[1:] = [run.operated("ones", torch.ones(1)) for _ in range(3)]
        up_to(run, FIRST)
        assert counted(run)[0].holder == "held"
    with inventing(Census) as run:
        run.find(Census).remember(memory)
        found[1:] = [run.operated("ones", torch.ones(1)) for _ in range(4)]
        up_to(run, FIRST)
        assert counted(run)[0].holder == "found"
