"""The loss scales of gradient scalers, and whose gradients hold one."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.amp import GradScaler
from torch.optim import SGD

from autograd_doctor.events.cycle import ScalerUsed
from autograd_doctor.instruments.cycle.loss_scales import LossScales
from autograd_doctor.instruments.spine.optimizers import Optimizers
from autograd_doctor.signals.scalers import Name, ScalerCall
from tests.inventing import Invented, inventing


def sgd(*parameters: nn.Parameter) -> SGD:
    optimizer = SGD(parameters or [nn.Parameter(torch.ones(2))], lr=0.1)
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            parameter.grad = torch.ones(2)
    return optimizer


def scaler(**options: Any) -> GradScaler:
    made = GradScaler("cpu", init_scale=8.0, **options)
    made.scale(torch.ones(()))
    return made


def call(run: Invented, scaler: GradScaler, name: Name, argument: Any = None, *, raised: bool = False) -> None:
    it = ScalerCall(scaler, name, argument)
    run.signals.scalers.began.send(it)
    it.raised = raised
    run.signals.scalers.ended.send(it)


def test_what_was_called_on_a_scaler():
    optimizer, mine, other = sgd(), scaler(), scaler()
    with inventing(LossScales) as run:
        call(run, mine, "scale", torch.ones(1))
        mine.unscale_(optimizer)
        call(run, mine, "unscale_", optimizer)
        call(run, other, "scale", torch.ones(1))
        call(run, mine, "step", optimizer)
        mine.update(2.0)
        call(run, mine, "update")
        found = [(event.scaler, event.call, event.scale, event.optimizer) for event in run.of(ScalerUsed)]
        assert found == [
            (0, "scale", 8.0, None),
            (0, "unscale_", 8.0, 0),
            (1, "scale", 8.0, None),
            (0, "step", 8.0, 0),
            (0, "update", 2.0, None),
        ]
        assert all(event.location is not None for event in run.of(ScalerUsed))
        assert not any(event.found_inf for event in run.of(ScalerUsed))


def test_outputs_scaled_at_one_line_in_one_step_are_told_once():
    mine, other = scaler(), scaler()
    with inventing(LossScales) as run:
        for each in (mine, mine, other):
            call(run, each, "scale")
        assert [event.scaler for event in run.of(ScalerUsed)] == [0, 1]
        run.train(sgd())
        for each in (other, other):
            call(run, each, "scale")
        assert [(event.scaler, event.step) for event in run.of(ScalerUsed)] == [(0, 0), (1, 0), (1, 1)]


def test_calls_of_a_scaler_on_itself_and_those_that_raised_are_not_told():
    mine, optimizer = scaler(), sgd()
    with inventing(LossScales) as run:
        outer = ScalerCall(mine, "step", optimizer)
        run.signals.scalers.began.send(outer)
        call(run, mine, "unscale_", optimizer)
        assert run.of(ScalerUsed) == []
        run.signals.scalers.ended.send(outer)
        call(run, mine, "update", raised=True)
        assert [event.call for event in run.of(ScalerUsed)] == ["step"]


def test_a_step_belongs_to_the_moment_in_which_it_began():
    mine, optimizer = scaler(), sgd()
    with inventing(LossScales) as run:
        outer = ScalerCall(mine, "step", optimizer)
        run.signals.scalers.began.send(outer)
        run.train(optimizer)
        run.signals.scalers.ended.send(outer)
        assert run.of(ScalerUsed)[0].step == 0


def test_a_scaler_that_is_switched_off_is_no_scaler():
    mine, optimizer = GradScaler("cpu", enabled=False), sgd()
    with inventing(LossScales) as run:
        call(run, mine, "scale")
        assert run.of(ScalerUsed) == []
        assert run.find(LossScales).of_optimizer(optimizer) == 1.0


def test_a_step_that_met_an_infinity():
    mine, optimizer = scaler(), sgd()
    with inventing(LossScales) as run:
        optimizer.param_groups[0]["params"][0].grad.fill_(float("inf"))
        mine.unscale_(optimizer)
        call(run, mine, "step", optimizer)
        assert run.of(ScalerUsed)[0].found_inf


def test_gradients_hold_a_scale_until_they_are_unscaled_or_the_scale_is_renewed():
    mine, optimizer = scaler(), sgd()
    with inventing(LossScales) as run:
        scales = run.find(LossScales)
        assert scales.of_optimizer(optimizer) == 1.0
        call(run, mine, "scale")
        assert scales.of_optimizer(optimizer) == 8.0
        mine.unscale_(optimizer)
        call(run, mine, "unscale_", optimizer)
        assert scales.of_optimizer(optimizer) == 1.0
        mine.update(2.0)
        call(run, mine, "update")
        assert scales.of_optimizer(optimizer) == 1.0
        call(run, mine, "scale")
        assert scales.of_optimizer(optimizer) == 2.0


def test_the_scale_told_is_the_one_that_was_in_force_when_the_loss_was_scaled():
    mine, optimizer = scaler(), sgd()
    with inventing(LossScales) as run:
        call(run, mine, "scale")
        mine.update(2.0)
        call(run, mine, "step", optimizer)
        assert run.of(ScalerUsed)[1].scale == 8.0


def test_an_optimizer_belongs_to_the_scaler_that_stepped_it():
    first, second, one, two, unknown = scaler(), scaler(), sgd(), sgd(), sgd()
    with inventing(LossScales) as run:
        scales = run.find(LossScales)
        second.update(2.0)
        call(run, second, "step", two)
        call(run, first, "step", one)
        call(run, first, "scale")
        call(run, second, "scale")
        assert [scales.of_optimizer(each) for each in (one, two, unknown)] == [8.0, 2.0, 1.0]


def test_the_scale_in_parameters_is_that_of_the_optimizers_that_hold_them():
    a, b, c = (nn.Parameter(torch.ones(2)) for _ in range(3))
    mine, scaled, plain = scaler(), sgd(a, c), sgd(b)
    with inventing(LossScales) as run:
        scales = run.find(LossScales)
        for optimizer in (scaled, plain):
            run.find(Optimizers).number(optimizer)
        call(run, mine, "step", scaled)
        call(run, mine, "scale")
        numbers = [run.number(each) for each in (a, b, c)]
        assert [scales.in_parameters([number]) for number in numbers] == [[8.0], [1.0], [8.0]]
        assert max(scales.in_parameters(numbers)) == 8.0
        assert scales.in_parameters([]) == []


def anew(parameter: nn.Parameter, share: float) -> None:
    parameter.grad = parameter.grad * share


def backward(run: Invented, *parameters: nn.Parameter, value: float = 8.0) -> None:
    for parameter in parameters:
        run.number(parameter)
    with run.backward(torch.ones(())):
        for parameter in parameters:
            parameter.grad = torch.full((2,), value)


@pytest.mark.parametrize(
    ("divide", "left"),
    [
        (lambda p: p.grad.div_(8), 1.0),
        (lambda p: p.grad.data.mul_(1 / 8), 1.0),
        (lambda p: torch._foreach_div_([p.grad], 8), 1.0),
        (lambda p: anew(p, 1 / 8), 1.0),
        (lambda p: p.grad.div_(80), 1.0),
        (lambda p: p.grad.div_(2), 8.0),
        (lambda p: None, 8.0),
    ],
)
def test_what_the_program_divides_by_the_scale_holds_it_no_more(divide, left):
    a, b = (nn.Parameter(torch.ones(2)) for _ in range(2))
    mine, optimizer = scaler(), sgd(a, b)
    with inventing(LossScales) as run:
        scales = run.find(LossScales)
        run.find(Optimizers).number(optimizer)
        call(run, mine, "scale")
        backward(run, a, b)
        divide(a)
        number = run.number(a)
        assert scales.in_parameters([number]) == [left]
        assert scales.of_optimizer(optimizer) == 8.0, "of one of the two alone"
        divide(b)
        assert scales.of_optimizer(optimizer) == left
        assert scales.divided(optimizer) == (left == 1.0)
        backward(run, a, b)
        assert scales.of_optimizer(optimizer) == 8.0


def test_where_gradients_overflow_it_is_as_in_the_step_before():
    a = nn.Parameter(torch.ones(2))
    mine, optimizer = scaler(), sgd(a)
    with inventing(LossScales) as run:
        scales = run.find(LossScales)
        call(run, mine, "scale")
        backward(run, a, value=float("inf"))
        assert scales.of_optimizer(optimizer) == 8.0
        backward(run, a)
        a.grad /= 8
        assert scales.of_optimizer(optimizer) == 1.0
        backward(run, a, value=float("inf"))
        assert scales.of_optimizer(optimizer) == 1.0


def test_gradients_that_no_backward_wrote_are_the_programs_own():
    a, copy = (nn.Parameter(torch.ones(2)) for _ in range(2))
    mine, optimizer = scaler(), sgd(copy)
    with inventing(LossScales) as run:
        call(run, mine, "scale")
        backward(run, a)
        run.number(copy)
        assert run.find(LossScales).of_optimizer(optimizer) == 1.0


def test_an_optimizer_beside_one_that_the_scaler_steps():
    a, b = (nn.Parameter(torch.ones(2)) for _ in range(2))
    mine, shown, other = scaler(), sgd(a), sgd(b)
    with inventing(LossScales) as run:
        scales = run.find(LossScales)
        call(run, mine, "scale")
        call(run, mine, "step", shown)
        backward(run, a, b)
        assert not scales.divided(other)
        a.grad /= 8
        b.grad /= 8
        assert scales.divided(other)
        assert not scales.divided(shown)
        assert scales.of_optimizer(shown) == 8.0


@pytest.mark.parametrize("name", ["scale", "update"])
def test_only_unscale_and_step_name_an_optimizer(name):
    mine, optimizer = scaler(), sgd()
    with inventing(LossScales) as run:
        call(run, mine, name, optimizer)
        assert run.of(ScalerUsed)[0].optimizer is None


def test_a_fused_optimizer_is_given_the_scale_of_its_step():
    mine, optimizer = scaler(), sgd()
    with inventing(LossScales) as run:
        call(run, mine, "scale")
        assert run.find(LossScales).at_step(optimizer) == 8.0
        optimizer.grad_scale = torch.tensor(2.0)
        assert run.find(LossScales).at_step(optimizer) == 2.0
