"""The clipping of gradients: what a call met."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from autograd_doctor.events.cycle import GradientsClipped
from autograd_doctor.events.steps import GradientsCleared
from autograd_doctor.instruments.cycle.clipping import Clipping
from autograd_doctor.signals.clipping import ClipCall
from tests.inventing import Invented, inventing

LOSS = torch.ones(())


def clip(run: Invented, name: str, tensors: list[Any], *args: Any, result: Any = None, **kwargs: Any) -> None:
    call = ClipCall(name, tensors, args, kwargs)
    run.signals.clipping.began.send(call)
    call.result = result
    run.signals.clipping.ended.send(call)


def test_which_gradients_were_clipped():
    fresh, old, missing = (nn.Parameter(torch.ones(2)) for _ in range(3))
    old.grad = torch.ones(2)
    with inventing(Clipping) as run:
        for each in (fresh, old):
            run.number(each)
        old.grad = torch.ones(2)
        with run.backward(LOSS):
            fresh.grad = torch.ones(2)
        old.grad = torch.ones(2)
        clip(run, "clip_grad_norm_", [missing, fresh, old], 1.0, result=torch.tensor(5.0))
        (event,) = run.of(GradientsClipped)
        assert event.parameters == [2, 0, 1]
        assert (event.fresh, event.missing) == ([0], [2])
        assert (event.limit, event.norm, event.kind, event.loss_scale, event.step) == (1.0, 5.0, "norm", 1.0, 0)
        assert event.location is not None


@pytest.mark.parametrize(
    ("name", "args", "kwargs", "result", "expected"),
    [
        ("clip_grad_norm_", (0.5,), {}, torch.tensor(3.0), (0.5, 3.0, "norm")),
        ("clip_grad_norm_", (), {"max_norm": 0.5}, torch.tensor(0.0), (0.5, 0.0, "norm")),
        ("clip_grad_value_", (0.5,), {}, None, (0.5, None, "value")),
        ("clip_grad_value_", (), {"clip_value": 2}, None, (2.0, None, "value")),
        ("clip_grad_value_", (0.5,), {}, torch.tensor(3.0), (0.5, None, "value")),
        ("clip_grads_with_norm_", (0.5, torch.tensor(7.0)), {}, None, (0.5, 7.0, "norm")),
        ("clip_grads_with_norm_", (0.5,), {"total_norm": 7.0}, None, (0.5, 7.0, "norm")),
    ],
)
def test_the_limit_and_the_norm_of_each_function(name, args, kwargs, result, expected):
    with inventing(Clipping) as run:
        clip(run, name, [nn.Parameter(torch.ones(1))], *args, result=result, **kwargs)
        (event,) = run.of(GradientsClipped)
        assert (event.limit, event.norm, event.kind) == expected


def test_calls_inside_a_call_count_once():
    weight = nn.Parameter(torch.ones(1))
    with inventing(Clipping) as run:
        outer = ClipCall("clip_grad_norm_", [weight], (1.0,), {})
        run.signals.clipping.began.send(outer)
        clip(run, "clip_grads_with_norm_", [], 2.0, torch.tensor(9.0))
        assert run.of(GradientsClipped) == []
        outer.result = torch.tensor(9.0)
        run.signals.clipping.ended.send(outer)
        (event,) = run.of(GradientsClipped)
        assert (event.limit, event.parameters) == (1.0, [0])


def test_the_lines_that_led_to_a_call():
    def helper() -> None:
        clip(run, "clip_grad_norm_", [nn.Parameter(torch.ones(1))], 1.0, result=torch.tensor(0.0))

    with inventing(Clipping) as run:
        helper()
        helper()
        first, second = run.of(GradientsClipped)
        assert first.location == second.location
        assert first.callers[:-2] == second.callers[:-2]
        assert first.callers[-2].line + 1 == second.callers[-2].line
        assert first.callers[-1] == second.callers[-1]


def test_a_call_that_raised_clipped_nothing():
    with inventing(Clipping) as run:
        call = ClipCall("clip_grad_norm_", [], (1.0,), {})
        run.signals.clipping.began.send(call)
        call.raised = True
        run.signals.clipping.ended.send(call)
        assert run.of(GradientsClipped) == []


def test_what_was_cleared_before_is_missing():
    weight = nn.Parameter(torch.ones(1))
    with inventing(Clipping) as run:
        run.number(weight)
        with run.backward(LOSS):
            weight.grad = torch.ones(1)
        weight.grad = None
        clip(run, "clip_grad_norm_", [weight], 1.0, result=torch.tensor(0.0))
        assert len(run.of(GradientsCleared)) == 1
        assert run.of(GradientsClipped)[0].missing == [0]


def test_the_loss_scale_in_the_gradients():
    from torch.amp import GradScaler
    from torch.optim import SGD

    from autograd_doctor.instruments.spine.optimizers import Optimizers
    from autograd_doctor.signals.scalers import ScalerCall

    weight, scaler = nn.Parameter(torch.ones(1)), GradScaler("cpu", init_scale=4.0)
    scaler.scale(LOSS)
    with inventing(Clipping) as run:
        sgd = SGD([weight], lr=0.1)
        run.find(Optimizers).number(sgd)
        call = ScalerCall(scaler, "scale", LOSS)
        run.signals.scalers.began.send(call)
        run.signals.scalers.ended.send(call)
        clip(run, "clip_grad_norm_", [weight], 1.0, result=torch.tensor(0.0))
        assert run.of(GradientsClipped)[0].loss_scale == 4.0
