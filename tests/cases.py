"""Custom functions in a line or two, and calls of them that can be judged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from autograd_doctor.reading.finite_differences import Case, Patience


def custom(forward: Callable[..., Any], backward: Callable[..., Any]) -> Callable[..., Any]:
    """The `apply` of a function; its backward is given the inputs, then the gradients of the outputs."""

    class Custom(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *inputs: torch.Tensor) -> Any:
            ctx.save_for_backward(*inputs)
            return forward(*inputs)

        @staticmethod
        def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
            return backward(*ctx.saved_tensors, *gradients)

    apply: Callable[..., Any] = Custom.apply
    return apply


def case(apply: Callable[..., Any], *arguments: Any, seconds: float = 1000.0) -> Case:
    """A call in which all floating tensors require a gradient."""
    wanted = [i for i, each in enumerate(arguments) if isinstance(each, torch.Tensor) and each.is_floating_point()]
    return Case(apply, arguments, tuple(wanted), Patience(seconds))


def row(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)
