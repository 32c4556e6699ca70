"""By what means were divided on the way to a loss."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from autograd_doctor.reading.means import divisor_of


def leaf() -> torch.Tensor:
    return torch.ones(3, requires_grad=True)


def mse(reduction: str = "mean") -> torch.Tensor:
    return functional.mse_loss(leaf(), torch.zeros(3), reduction=reduction)


@pytest.mark.parametrize(
    ("root", "divisor"),
    [
        pytest.param(leaf().mean(), 1.0, id="a mean"),
        pytest.param(mse(), 1.0, id="a loss"),
        pytest.param(mse() / 4, 4.0, id="divided"),
        pytest.param(mse().unsqueeze(0).mul(torch.tensor([2.0])).mean() / 4, 4.0, id="what the mean is of"),
        pytest.param(
            functional.cross_entropy(leaf().repeat(2, 1), torch.full((2, 3), 1 / 3)), 0.0, id="divided by torch itself"
        ),
        pytest.param(mse() / torch.tensor(4.0) / 2, 8.0, id="twice"),
        pytest.param(sum([mse(), leaf().mean()]) / 4, 4.0, id="a sum divided"),
        pytest.param(mse() / 4 + 0.1 * leaf().mean() / 4, 4.0, id="a sum of divided ones"),
        pytest.param(mse() + 0.1 * leaf().mean() + 3, 1.0, id="a sum"),
        pytest.param(0.5 * mse() + torch.tensor(0.5) * leaf().mean(), 1.0, id="weights that come to one"),
        pytest.param(leaf(), 0.0, id="a leaf"),
        pytest.param(mse("sum") / 4, 0.0, id="a sum of squares"),
        pytest.param(mse("none").sum(), 0.0, id="a sum of them by hand"),
        pytest.param(mse() * 0.25, 0.0, id="a share"),
        pytest.param(mse() * 12 / 48, 0.0, id="a share of all"),
        pytest.param(0.2 * mse() + 0.05 * leaf().mean(), 0.0, id="weights that may average"),
        pytest.param(mse() / 4 + leaf().mean(), 0.0, id="one of two divided"),
        pytest.param(mse() - leaf().mean(), 0.0, id="a difference"),
        pytest.param(4 / mse(), 0.0, id="divided by it"),
        pytest.param(mse() * leaf().mean(), 0.0, id="a product"),
        pytest.param(torch.add(mse(), leaf().mean(), alpha=2), 0.0, id="added so often"),
    ],
)
def test_divisors_of_losses(root: torch.Tensor, divisor: float) -> None:
    assert divisor_of(root.grad_fn) == divisor


def test_of_a_graph_that_was_freed_nothing_is_known() -> None:
    loss = mse() / torch.tensor(4.0)
    loss.backward()
    assert divisor_of(loss.grad_fn) == 0.0
