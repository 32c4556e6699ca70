"""What a custom function does in its own `backward`: which operation there made NaN or Inf."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest
import torch
from torch.utils.checkpoint import checkpoint

from autograd_doctor.reading.graph_walk import BadGradient, GradientWatch, GraphWalk, non_finite_event
from autograd_doctor.reading.mode_stack import modes_on_stack
from autograd_doctor.reading.own_backward import OwnBackward, is_own

Slope = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def applied(x: torch.Tensor, slope: Slope) -> torch.Tensor:
    """The identity, with a `backward` that multiplies by what `slope` makes of the input and of the gradient."""

    class Own(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(x)
            return x.clone()

        @staticmethod
        def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
            return slope(*ctx.saved_tensors, gradient)

    result: torch.Tensor = Own.apply(x)  # type: ignore[no-untyped-call]
    return result


def spoiled(value: float, slope: Slope) -> tuple[GraphWalk, BadGradient]:
    loss = applied(torch.tensor([value, 1.0], requires_grad=True), slope).sum()
    walk = GraphWalk([loss], backward=0, step=0)
    watch = GradientWatch(walk, looking=nullcontext, made_of=lambda _: None)
    watch.attach()
    loss.backward()
    watch.detach()
    assert modes_on_stack() == []
    assert watch.first_bad is not None
    return walk, watch.first_bad


def grown(x: torch.Tensor, gradient: torch.Tensor) -> torch.Tensor:
    power = x.exp()
    return gradient * power / (1 + power)


def test_the_operation_is_told_with_its_line_and_what_it_was_given() -> None:
    walk, bad = spoiled(500.0, grown)
    event = non_finite_event(walk, bad, [0], absorbed=False)
    assert (event.operation, event.node) == ("exp", "OwnBackward")
    assert event.location is not None
    assert event.location.line == grown.__code__.co_firstlineno + 1
    assert [(facts.name, facts.low, facts.high) for facts in event.operands] == [("x", 1.0, 500.0)]


def test_the_first_of_several_is_told() -> None:
    _, bad = spoiled(500.0, lambda x, gradient: gradient * x.exp() + (x - x).log())
    assert bad.inside is not None
    assert bad.inside.operation == "exp"


def test_what_was_spoiled_before_it_was_used_has_another_cause() -> None:
    table = torch.tensor([math.nan, 1.0])
    _, bad = spoiled(1.0, lambda x, gradient: gradient * table)
    assert bad.inside is None


def test_other_nodes_run_without_it() -> None:
    """Neither what ran before a custom function, nor hooks of the program, are part of its `backward`."""
    seen = []
    x = torch.ones(2, requires_grad=True)
    before = x * 2
    before.register_hook(lambda gradient: seen.append([type(mode) for mode in modes_on_stack()]))
    inside: list[Any] = []

    def slope(x: torch.Tensor, gradient: torch.Tensor) -> torch.Tensor:
        inside.extend(type(mode) for mode in modes_on_stack())
        return gradient

    loss = applied(before, slope).sum()
    watch = GradientWatch(GraphWalk([loss], backward=0, step=0), looking=nullcontext, made_of=lambda _: None)
    watch.attach()
    loss.backward()
    watch.detach()
    assert (seen, inside) == ([[]], [OwnBackward])


def test_nothing_is_left_of_it_where_a_backward_raises() -> None:
    def fails(x: torch.Tensor, gradient: torch.Tensor) -> torch.Tensor:
        raise ValueError("no slope")

    loss = applied(torch.ones(2, requires_grad=True), fails).sum()
    watch = GradientWatch(GraphWalk([loss], backward=0, step=0), looking=nullcontext, made_of=lambda _: None)
    watch.attach()
    with pytest.raises(ValueError, match="no slope"):
        loss.backward()
    watch.detach()
    assert modes_on_stack() == []


def test_a_function_of_torch_is_not_looked_into() -> None:
    x = torch.ones(2, requires_grad=True)
    again: Any = checkpoint(torch.exp, x, use_reentrant=True)
    assert [is_own(out.grad_fn) for out in (applied(x, grown), again, x * 2)] == [True, False, False]
