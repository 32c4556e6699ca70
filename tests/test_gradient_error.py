"""How wrong gradients are that were computed from values changed behind autograd."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from autograd_doctor.reading import gradient_error
from autograd_doctor.reading.gradient_error import relative_error
from autograd_doctor.reading.graph_walk import GraphWalk


class Identity(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x * 1

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return gradient


def leaf() -> torch.Tensor:
    return torch.tensor([3.0, 4.0], requires_grad=True)


def error(root: torch.Tensor, saved: torch.Tensor, original: torch.Tensor, *, hooked: bool = False) -> float | None:
    return relative_error(GraphWalk([root], backward=0, step=0), root, saved, original, hooked=hooked)


def test_the_error_is_relative_to_the_true_gradient() -> None:
    a, x = leaf(), torch.tensor([0.25, 0.0])
    loss = (a * x).sum()
    x.data.copy_(torch.tensor([0.25, 0.5]))
    assert error(loss, x, torch.tensor([0.25, 0.0])) == pytest.approx(2.0)
    assert x.tolist() == [0.25, 0.5], "the program's values are put back"
    assert a.grad is None


def test_errors_of_all_leaves_count_together() -> None:
    a, b, x = leaf(), leaf(), torch.tensor([3.0, 4.0])
    loss = (a * x).sum() + (b * torch.tensor([0.0, 12.0])).sum()
    x.data.zero_()
    assert error(loss, x, torch.tensor([3.0, 4.0])) == pytest.approx(5 / 13)


def test_values_are_put_back_after_a_failure() -> None:
    a, x = leaf(), torch.tensor([3.0, 4.0])
    loss = (a.exp() * x).sum()
    walk = GraphWalk([loss], backward=0, step=0)
    loss.backward()
    with pytest.raises(RuntimeError, match="second time"):
        relative_error(walk, loss, x, torch.zeros(2), hooked=False)
    with pytest.raises(ZeroDivisionError), gradient_error._holding(x, torch.zeros(2)):
        raise ZeroDivisionError
    assert x.tolist() == [3.0, 4.0]


def test_nothing_is_said_where_the_true_gradient_is_zero() -> None:
    a, x = leaf(), torch.ones(2)
    assert error((a * x).sum(), x, torch.zeros(2)) is None


def test_nothing_is_computed_where_it_could_be_noticed() -> None:
    a, x = leaf(), torch.ones(2)
    product = a * x
    original = torch.full((2,), 2.0)
    assert error(product.sum(), x, original) == pytest.approx(0.5)
    assert error(product.sum(), x, original, hooked=True) is None
    assert error(product, x, original) is None
    assert error(Identity.apply(product).sum(), x, original) is None  # type: ignore[no-untyped-call]


def test_large_graphs_are_not_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    a, x = leaf(), torch.ones(2)
    loss = (a * x).sum()
    for most, expected in ((3, pytest.approx(0.5)), (2, None)):
        monkeypatch.setattr(gradient_error, "_MOST_NODES", most)
        assert error(loss, x, torch.full((2,), 2.0)) == expected


def test_a_graph_without_leaves_has_no_error() -> None:
    a, x = leaf(), torch.ones(2)
    loss = (a * x).sum()
    walk = GraphWalk([loss], backward=0, step=0)
    a.requires_grad_(False)
    assert relative_error(walk, loss, x, torch.zeros(2), hooked=False) is None
