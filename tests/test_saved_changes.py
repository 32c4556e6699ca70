"""The error that a hidden change of a saved tensor causes: measured as a second computation by hand measures it."""

from __future__ import annotations

import textwrap

import pytest
import torch
from torch import nn

from autograd_doctor.events.errors import SavedTensorChanged
from tests.harness import recorded

PROGRAM = textwrap.dedent(
    """
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 4)
    inputs = torch.randn(5, 4)
    hidden = torch.tanh(model(inputs))
    loss = (hidden**2).mean()
    hidden.data.clamp_(0.3)
    {hook}
    loss.backward()
    """
)


def error_by_hand() -> float:
    torch.manual_seed(0)
    model = nn.Linear(4, 4)
    inputs = torch.randn(5, 4)
    gradients = []
    for clamped in (True, False):
        hidden = torch.tanh(model(inputs))
        loss = (hidden**2).mean()
        if clamped:
            hidden.data.clamp_(0.3)
        gradients.append(torch.cat([g.flatten() for g in torch.autograd.grad(loss, list(model.parameters()))]))
    found, true = gradients
    return float((found - true).norm() / true.norm())


def hidden_change(program: str) -> SavedTensorChanged:
    with recorded(program) as (trace, _, _):
        (changed,) = trace.of(SavedTensorChanged)
        return changed


def test_error_of_the_gradient_is_measured() -> None:
    changed = hidden_change(PROGRAM.format(hook=""))
    assert changed.silently
    assert changed.relative_error == pytest.approx(error_by_hand(), rel=1e-5)


def test_nothing_is_measured_where_a_hook_would_run_twice() -> None:
    hook = "hidden.register_hook(lambda gradient: print('called'))"
    assert hidden_change(PROGRAM.format(hook=hook)).relative_error is None
