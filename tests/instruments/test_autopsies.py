"""What the graph of a spoiled loss tells, and what it leaves open."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.optim import SGD

from autograd_doctor.events.numerics import NonFiniteInput, NonFiniteProduced
from autograd_doctor.events.run import MoreDetailNeeded
from autograd_doctor.instruments.numerics.autopsies import Autopsies
from autograd_doctor.instruments.numerics.nonfinite import NonFinite
from autograd_doctor.instruments.spine.backward_runs import BackwardRuns
from autograd_doctor.instruments.spine.detail import CLOSE_STEPS, FIRST_STEPS, Detail
from tests.inventing import Invented, inventing


def weight(*values: float) -> nn.Parameter:
    return nn.Parameter(torch.tensor(values or (1.0, 2.0)))


class Loop:
    """A training loop of one parameter, whose loss is the mean of its logarithm."""

    def __init__(self, run: Invented) -> None:
        self.run = run
        self.a = weight()
        self.optimizer = SGD([self.a], lr=0.1)
        run.signals.optimizers.built.send(self.optimizer)

    def step(self) -> None:
        scaled = self.run.operated("mul", self.a * 3.0, self.a, 3.0)
        logarithm = self.run.operated("log", scaled.log(), scaled)
        loss = self.run.operated("mean", logarithm.mean(), logarithm)
        with self.run.backward(loss):
            pass
        with self.run.step(self.optimizer):
            pass

    def steps(self, count: int) -> None:
        for _ in range(count):
            self.step()

    def spoil(self) -> None:
        self.a.data[1] = -5.0


@pytest.mark.parametrize("before", [CLOSE_STEPS, FIRST_STEPS + 3])
def test_a_graph_tells_the_node_that_made_a_loss_not_finite(before: int) -> None:
    with inventing(Autopsies, BackwardRuns) as run:
        loop = Loop(run)
        loop.steps(before)
        assert not run.find(Detail).closely
        loop.spoil()
        loop.step()
        (born,) = run.of(NonFiniteProduced)
        assert (born.operation, born.step, born.from_graph) == ("log", before, True)
        assert (born.output.nan, born.operands[0].low, born.rows) == (1, -15.0, [1])
        assert run.of(MoreDetailNeeded) == []


def test_where_values_are_read_others_look_at_the_loss() -> None:
    with inventing(Autopsies, BackwardRuns) as run:
        loop = Loop(run)
        loop.spoil()
        loop.step()
        assert not any(born.from_graph for born in run.of(NonFiniteProduced))
        assert not run.of(MoreDetailNeeded)


def test_a_finite_loss_is_not_looked_into() -> None:
    with inventing(Autopsies, BackwardRuns) as run:
        Loop(run).steps(FIRST_STEPS + 3)
        assert not run.of(NonFiniteProduced)
        assert not run.of(MoreDetailNeeded)


def light(run: Invented, loss_of: Callable[[nn.Parameter], torch.Tensor], a: nn.Parameter) -> None:
    """Steps whose last one is spoiled, and light."""
    optimizer = SGD([a], lr=0.1)
    run.signals.optimizers.built.send(optimizer)
    for turn in range(FIRST_STEPS + 3):
        if turn == FIRST_STEPS + 2:
            a.data.fill_(-5.0)
        loss = loss_of(a)
        with run.backward(loss):
            pass
        with run.step(optimizer):
            pass
    assert not run.find(Detail).full


def test_a_graph_without_recorded_lines_asks_for_more() -> None:
    with inventing(Autopsies) as run:
        light(run, lambda a: a.log().mean(), weight())
        assert len(run.of(MoreDetailNeeded)) == 1


def test_a_root_of_many_numbers_is_looked_at_too() -> None:
    with inventing(Autopsies) as run:
        light(run, lambda a: a.log(), weight())
        assert len(run.of(MoreDetailNeeded)) == 1


@pytest.mark.parametrize(("names", "told"), [(("log", "log"), 1), (("log", "logarithm"), 0)])
def test_two_lines_with_graphs_of_one_structure_accuse_neither(names: tuple[str, str], told: int) -> None:
    with inventing(Autopsies, BackwardRuns) as run:
        turns = iter(range(100))

        def loss_of(a: nn.Parameter) -> torch.Tensor:
            logarithm = run.operated(names[next(turns) % 2], a.log(), a)
            mean: torch.Tensor = run.operated("mean", logarithm.mean(), logarithm)
            return mean

        light(run, loss_of, weight())
        assert len(run.of(NonFiniteProduced)) == told
        assert len(run.of(MoreDetailNeeded)) == 1 - told


@pytest.mark.parametrize(("is_only_run", "told"), [(True, 1), (False, 0)])
def test_data_that_spoiled_a_loss_are_told_where_no_other_run_will(is_only_run: bool, told: int) -> None:
    target = torch.zeros(2)
    with inventing(Autopsies, BackwardRuns) as run:
        a = weight()
        optimizer = SGD([a], lr=0.1)
        run.signals.optimizers.built.send(optimizer)
        for turn in range(FIRST_STEPS + 3):
            if turn == FIRST_STEPS + 2:
                target[1] = math.nan
                run.find(Detail).is_only_run = is_only_run
            with run.backward(nn.functional.mse_loss(a * 1.0, target)):
                pass
            with run.step(optimizer):
                pass
        inputs = run.of(NonFiniteInput)
        assert [(found.rows, found.tensor.nan, found.step) for found in inputs] == told * [([1], 1, FIRST_STEPS + 2)]
        assert run.of(NonFiniteProduced) == []
        assert len(run.of(MoreDetailNeeded)) == 1 - told


# -------------------------------------------------------------- values that the program read and did not send backward


def read(run: Invented, tensor: torch.Tensor) -> None:
    run.signals.value_reads.read.send(tensor)


def stopped(run: Invented, loop: Loop) -> torch.Tensor:
    """The loss of a light step whose logarithm is spoiled: the program is about to look at it."""
    loop.steps(FIRST_STEPS + 3)
    assert not run.find(Detail).full
    loop.spoil()
    return (loop.a * 3.0).log().mean()


def test_a_spoiled_value_that_the_program_stops_for_is_looked_into() -> None:
    with inventing(Autopsies, BackwardRuns) as run:
        read(run, stopped(run, Loop(run)))
        assert run.of(NonFiniteProduced) == [], "a backward may follow"
    (born,) = run.of(NonFiniteProduced)
    assert (born.operation, born.step, born.from_graph, born.output.nan) == ("log", FIRST_STEPS + 3, True, 1)
    assert run.of(MoreDetailNeeded) == []


def test_the_origin_of_a_value_that_was_recorded_is_known() -> None:
    with inventing(Autopsies, NonFinite) as run:
        loop = Loop(run)
        loop.spoil()
        logarithm = run.operated("logarithm", loop.a.log(), loop.a)
        read(run, run.operated("mean", logarithm.mean(), logarithm))
    (born,) = run.of(NonFiniteProduced)
    assert (born.operation, born.from_graph, born.step) == ("logarithm", False, 0)


def test_a_spoiled_value_of_which_no_graph_tells_asks_for_more() -> None:
    with inventing(Autopsies, BackwardRuns) as run:
        read(run, stopped(run, Loop(run)) * 2.0 + 1.0)
    assert run.of(NonFiniteProduced) == []
    assert len(run.of(MoreDetailNeeded)) == 1


def test_the_first_spoiled_value_is_the_one_that_counts() -> None:
    with inventing(Autopsies, BackwardRuns) as run:
        loss = stopped(run, Loop(run))
        read(run, loss)
        read(run, loss * 2.0 + 1.0)
    assert len(run.of(NonFiniteProduced)) == 1


def test_training_that_goes_on_without_what_it_read_is_told_of_it_once() -> None:
    with inventing(Autopsies, BackwardRuns) as run:
        loop = Loop(run)
        read(run, stopped(run, loop))
        loop.a.data.fill_(1.0)
        loop.step()
        told = run.of(NonFiniteProduced)
        loop.step()
    assert [(event.operation, event.reached) for event in told] == [("log", "read")]
    assert run.of(NonFiniteProduced) == told
    assert run.of(MoreDetailNeeded) == []


def test_what_is_read_of_a_loss_that_went_backward_is_nothing_new() -> None:
    with inventing(Autopsies, BackwardRuns) as run:
        loss = stopped(run, Loop(run))
        with run.backward(loss):
            read(run, loss * 1.0)
        before = run.of(NonFiniteProduced)
        read(run, loss)
    assert len(before) == 1
    assert run.of(NonFiniteProduced) == before


@pytest.mark.parametrize(
    "value",
    [
        lambda a: a.square().mean(),
        lambda a: a.log().mean().detach(),
        lambda a: nn.Parameter(torch.tensor([float("nan")])),
        lambda a: (a.log() * 0).nan_to_num().mean(),
    ],
    ids=["finite", "without a graph", "a leaf", "mended"],
)
def test_other_values_that_are_read_say_nothing(value: Callable[[nn.Parameter], torch.Tensor]) -> None:
    with inventing(Autopsies, BackwardRuns) as run:
        loop = Loop(run)
        stopped(run, loop)
        read(run, value(loop.a))
    assert run.of(NonFiniteProduced) == []
    assert run.of(MoreDetailNeeded) == []


def bounds(run: Invented, loop: Loop, *, recorded: bool) -> torch.Tensor:
    ends = torch.nn.functional.pad(loop.a, (1, 1), value=float("inf"))
    return run.operated("pad", ends, loop.a) if recorded else ends


@pytest.mark.parametrize("recorded", [False, True])
def test_infinities_that_the_program_wrote_down_say_nothing_when_they_are_read(recorded: bool) -> None:
    with inventing(Autopsies, NonFinite) as run:
        loop = Loop(run)
        if not recorded:
            stopped(run, loop)
            loop.a.data.fill_(1.0)
        ends = bounds(run, loop, recorded=recorded)
        read(run, ends)
        read(run, run.operated("select", ends[0], ends) if recorded else ends[0])
    assert run.of(NonFiniteProduced) == []
    assert run.of(MoreDetailNeeded) == []


@pytest.mark.parametrize("recorded", [False, True])
def test_a_single_number_computed_from_them_does(recorded: bool) -> None:
    with inventing(Autopsies, NonFinite) as run:
        loop = Loop(run)
        if not recorded:
            stopped(run, loop)
            loop.a.data.fill_(1.0)
        ends = bounds(run, loop, recorded=recorded)
        read(run, run.operated("mean", ends.mean(), ends) if recorded else ends.mean())
    assert [event.operation for event in run.of(NonFiniteProduced)] == (["pad"] if recorded else [])
    assert len(run.of(MoreDetailNeeded)) == (0 if recorded else 1)
