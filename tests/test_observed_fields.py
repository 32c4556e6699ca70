"""What rules once read from names of classes and parameters, and instruments now observe."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pytest
import torch
from torch import nn
from torch.optim import lr_scheduler

from autograd_doctor.events.cycle import SchedulerStepped
from autograd_doctor.events.errors import OperationFailed
from autograd_doctor.events.event import Event
from autograd_doctor.events.steps import BackwardRan, OptimizerStepped
from autograd_doctor.events.subjects import OptimizerBuilt, ParameterSeen
from autograd_doctor.instruments.session import all_instruments
from tests.watching import watching

E = TypeVar("E", bound=Event)


def stated(kind: type[E], program: Callable[[], object]) -> list[E]:
    with watching(*all_instruments()) as events:
        program()
    return [event for event in events if isinstance(event, kind)]


def trained(optimizer: Callable[..., torch.optim.Optimizer], *, closure: bool = False, steps: int = 2) -> None:
    model = nn.Linear(3, 1)
    made = optimizer(model.parameters(), lr=0.1)

    def loss() -> torch.Tensor:
        made.zero_grad()
        value = model(torch.ones(4, 3)).square().mean()
        value.backward()
        return value

    for _ in range(steps):
        if closure:
            made.step(loss)
        else:
            loss()
            made.step()


def momentum(parameters: object, lr: float) -> torch.optim.Optimizer:
    return torch.optim.SGD(parameters, lr=lr, momentum=0.9)  # type: ignore[arg-type]


@pytest.mark.parametrize(("optimizer", "kept"), [(torch.optim.SGD, False), (momentum, True), (torch.optim.Adam, True)])
def test_whether_an_optimizer_keeps_a_state(optimizer: Callable[..., torch.optim.Optimizer], kept: bool) -> None:
    assert [step.keeps_state for step in stated(OptimizerStepped, lambda: trained(optimizer))] == [kept, kept]


def test_whether_a_loop_may_build_another_optimizer() -> None:
    def sweep() -> None:
        for steps in range(1):
            trained(torch.optim.SGD, steps=steps)

    (alone,) = stated(OptimizerBuilt, lambda: trained(torch.optim.SGD, steps=0))
    (first,) = stated(OptimizerBuilt, sweep)
    assert first.in_loop
    assert not alone.in_loop


def test_whether_an_optimizer_stops_by_a_tolerance() -> None:
    (search,) = stated(OptimizerBuilt, lambda: trained(torch.optim.LBFGS, closure=True, steps=0))
    (descent,) = stated(OptimizerBuilt, lambda: trained(torch.optim.SGD, steps=0))
    assert (search.has_tolerance, descent.has_tolerance) == (True, False)


def test_backwards_inside_an_unfinished_step() -> None:
    inside = stated(BackwardRan, lambda: trained(torch.optim.SGD, closure=True))
    assert [event.inside_step for event in inside] == [0, 0]
    assert {event.inside_step for event in stated(BackwardRan, lambda: trained(torch.optim.SGD))} == {None}


def test_whether_a_schedule_follows_a_metric() -> None:
    def program() -> None:
        optimizer = torch.optim.SGD(nn.Linear(3, 1).parameters(), lr=0.1)
        plateau, steady = lr_scheduler.ReduceLROnPlateau(optimizer), lr_scheduler.StepLR(optimizer, 2)
        optimizer.step()
        plateau.step(1.0)
        steady.step()

    calls = stated(SchedulerStepped, program)
    assert {(call.kind, call.follows_metric) for call in calls} == {("ReduceLROnPlateau", True), ("StepLR", False)}


class Mixture(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(3, 1)) for _ in range(2))
        self.layers = nn.Sequential(nn.Linear(3, 3))
        self.scales = nn.ParameterList(torch.ones(1) for _ in range(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.layers(x)
        return sum((scale * expert(x) for scale, expert in zip(self.scales, self.experts, strict=True)), torch.zeros(1))


def test_members_of_one_container_are_a_series() -> None:
    def program() -> None:
        model = Mixture()
        model(torch.ones(2, 3)).sum().backward()

    series = {event.name: event.series for event in stated(ParameterSeen, program)}
    assert series["model.experts.0.0.weight"] == series["model.experts.1.0.weight"] == "model.experts.*.0.weight"
    assert series["model.scales.0"] == series["model.scales.1"] == "model.scales.*"
    assert series["model.layers.0.weight"] == ""


def test_parameters_among_the_operands_of_a_failed_operation() -> None:
    def program() -> None:
        with pytest.raises(RuntimeError):
            nn.Linear(3, 1)(torch.ones(2, 4))

    (failed,) = stated(OperationFailed, program)
    assert [facts.parameter is None for facts in failed.operands] == [True, False, False]
