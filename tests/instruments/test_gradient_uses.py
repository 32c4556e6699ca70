"""Gradients that something is computed from."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

from autograd_doctor.events.cycle import GradientsTakenIn
from autograd_doctor.instruments.cycle.gradient_uses import GradientUses
from tests.watching import watching


def clear(p: nn.Parameter) -> None:
    p.grad.detach_()  # type: ignore[union-attr]
    p.grad.zero_()  # type: ignore[union-attr]


def drop(p: nn.Parameter) -> None:
    if p.grad is not None:
        p.grad = None


def clip(p: nn.Parameter) -> None:
    nn.utils.clip_grad_norm_(p, 0.1)


def late(p: nn.Parameter) -> None:
    kept, p.grad = p.grad, None
    torch.stack([kept, kept])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("does", "is_used"),
    [
        (lambda p: p.grad.norm(), True),
        (lambda p: p.grad.tolist(), True),
        (lambda p: torch.zeros_like(p.detach()).add_(p.grad), True),
        (late, True),
        (lambda p: p.grad.mul_(0.5), False),
        (clear, False),
        (drop, False),
        (clip, False),
    ],
)
def test_what_takes_a_gradient_in(does: Callable[[nn.Parameter], object], is_used: bool) -> None:
    layer = nn.Linear(3, 1, bias=False)
    with watching(GradientUses) as run:
        for _ in range(2):
            layer(torch.randn(4, 3)).square().mean().backward()
            does(layer.weight)
    assert [event.backward for event in run.of(GradientsTakenIn)] == ([0, 1] if is_used else [])
