"""The first node of a graph that made values that are not finite, found by computing its nodes once more."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812
from torch.utils.checkpoint import checkpoint

from autograd_doctor.reading.birth import Birth, birth, brought_in
from autograd_doctor.reading.graph_structure import nodes_of
from autograd_doctor.reading.torch_versions import packing_watched

Loss = Callable[[torch.Tensor], torch.Tensor]
INF = float("inf")


@pytest.fixture(autouse=True)
def _as_in_a_session() -> Iterator[None]:
    with packing_watched():
        yield


def birth_in(loss: torch.Tensor) -> Birth | None:
    with torch.no_grad():
        return birth(nodes_of([loss]))


def leaf() -> torch.Tensor:
    """Four rows of three, of either sign."""
    return torch.linspace(-1.0, 1.1, 12).view(4, 3).requires_grad_()


BORN: dict[str, tuple[str, Loss]] = {
    "logarithm of a negative number": ("Log", lambda h: (h - h.relu() * h.log()).mean()),
    "quotient of zeros": ("Div", lambda h: (h.square() * 0).sum() / (h * 0).sum()),
    "quotient whose dividend is not saved": ("Div", lambda h: h.square().sum() / torch.zeros(())),
    "overflow of exp": ("Exp", lambda h: (h * 1000).exp().mean()),
    "variance of one row": ("Var", lambda h: h[:1].var(0).mean()),
    "angle beyond one": ("Acos", lambda h: (h.abs() + 2).acos().sum()),
    "fully masked softmax": ("Softmax", lambda h: h.masked_fill(torch.ones(4, 3).bool(), -INF).softmax(1).mean()),
    "no target": ("NllLoss", lambda h: F.cross_entropy(h, torch.full((4,), -100))),
    "root of a negative number": ("Pow", lambda h: (-h.abs()).pow(0.5).mean()),
    "power of zero": ("Pow", lambda h: (h * 0).pow(-1).mean()),
    "inverse root of zero": ("Rsqrt", lambda h: (h * 0).rsqrt().mean()),
    "atanh of one": ("Atanh", lambda h: torch.atanh(h * 0 + 1).mean()),
    "normalised zeros": ("Div", lambda h: F.normalize(h * 0, eps=0).sum()),
    "overflow of a loss": ("MseLoss", lambda h: F.mse_loss(h * 1e30, torch.zeros(4, 3))),
    "overflow of a sum": ("Sum", lambda h: (h.abs() * 2e38).sum()),
    "mean of nothing": ("Mean", lambda h: h[:0].mean()),
    "density of no width": (
        "Div",
        lambda h: torch.distributions.Normal(h, h.relu() * 0 + 1e-45).log_prob(0 * h).mean(),
    ),
    "product of an infinity": ("Log", lambda h: ((h.relu()).log() * 0).sum()),
    "the earlier of two": ("Log", lambda h: h.log().mean() + (h * 0).rsqrt().mean()),
}


def test_weights_of_classes_that_were_spoiled_before_are_no_birth() -> None:
    weight = torch.tensor([1.0, math.nan, 1.0])
    assert birth_in(F.cross_entropy(leaf() * 1.0, torch.tensor([0, 1, 2, 0]), weight=weight)) is None


@pytest.mark.parametrize(("node", "loss"), BORN.values(), ids=list(BORN))
def test_births(node: str, loss: Loss) -> None:
    found = birth_in(loss(leaf() * 1.0))
    assert found is not None
    assert found.node.name().removesuffix("0").removesuffix("1") == f"{node}Backward"
    assert not bool(torch.isfinite(found.output).all())
    assert all(bool(torch.isfinite(operand).all()) for operand in found.operands)


class Spoil(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x / 0

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> torch.Tensor:
        return gradients[0]


UNKNOWN: dict[str, Loss] = {
    "a constant that is not finite": lambda h: (h * torch.tensor([math.nan, 1.0, 1.0])).mean(),
    "a factor that is not finite": lambda h: h.mean() * INF,
    "a custom function": lambda h: Spoil.apply(h).mean(),  # type: ignore[no-untyped-call]
    "a mask that was added": lambda h: (h + torch.full((4, 3), -INF)).softmax(1).mean(),
}


@pytest.mark.parametrize("loss", UNKNOWN.values(), ids=list(UNKNOWN))
def test_where_a_graph_does_not_tell_nobody_is_accused(loss: Loss) -> None:
    value = loss(leaf() * 1.0)
    assert not bool(torch.isfinite(value))
    assert birth_in(value) is None


def test_a_weight_that_was_spoiled_already_is_not_born_here() -> None:
    weight = nn.Parameter(torch.tensor([1.0, math.nan]))
    assert birth_in(weight.exp().sum()) is None


def test_infinities_that_a_mask_fills_in_are_no_birth() -> None:
    masked = leaf().masked_fill(torch.eye(4, 3).bool(), -INF)
    assert birth_in(masked.softmax(1).square().mean()) is None
    assert birth_in(torch.where(torch.eye(4, 3).bool(), leaf(), -INF).amax()) is None


def test_a_checkpoint_is_not_run_once_more() -> None:
    runs = []

    def segment(x: torch.Tensor) -> torch.Tensor:
        runs.append(1)
        return x.tanh().log()

    loss = checkpoint(segment, leaf() * 2.0, use_reentrant=False).mean()
    found = birth_in(loss)
    assert found is not None
    assert found.node.name() == "LogBackward0"
    assert len(runs) == 1


def test_a_graph_that_a_backward_has_freed_tells_what_its_leaves_still_tell() -> None:
    def loss(h: torch.Tensor) -> torch.Tensor:
        value = h.log().mean()
        value.backward()
        return value

    found = birth_in(loss(leaf().tanh()))
    assert found is not None
    assert found.node.name() == "LogBackward0"
    assert birth_in(loss(Spoil.apply(leaf() * 0.1))) is None  # type: ignore[no-untyped-call]


def test_random_numbers_are_not_drawn() -> None:
    loss = (
        F.dropout(leaf(), 0.5).mean()
        + (leaf() * 0.2 + 0.5).bernoulli().mean()
        + torch.rrelu(leaf(), training=True).log().mean()
    )
    before = torch.get_rng_state()
    birth_in(loss)
    assert torch.equal(torch.get_rng_state(), before)


# --------------------------------------------------------------------------------------------------- small dtypes


def half(*shape: int, value: float = 300.0) -> torch.Tensor:
    return torch.full(shape or (4,), value, dtype=torch.float16, requires_grad=True)


LOW: dict[str, tuple[Callable[[], torch.Tensor], bool | None]] = {
    "square of float16": (lambda: (half() * 1.0).square().mean(), True),
    "product of float16": (lambda: ((half() * 1.0) * (half() * 1.0)).mean(), True),
    "exp of float16": (lambda: (half(value=20.0) * 1.0).exp().mean(), True),
    "exp that float32 does not hold either": (lambda: (half() * 1.0).exp().mean(), False),
    "logarithm in float16": (lambda: (half() * -1.0).log().mean(), False),
    "scores of float16": (lambda: ((half(2, 3) * 1.0) @ (half(3, 2) * 1.0)).mean(), True),
    "exp of float32": (lambda: (leaf() * 1000).exp().mean(), None),
}


@pytest.mark.parametrize(("loss", "low"), LOW.values(), ids=list(LOW))
def test_whether_a_birth_came_of_the_range(loss: Callable[[], torch.Tensor], low: bool | None) -> None:
    found = birth_in(loss())
    assert found is not None
    assert found.low_precision is low


# ------------------------------------------------------------------------------------ data that nothing holds any more


DATA: dict[str, tuple[Loss, str | None]] = {
    "a dividend of data": (lambda h: (torch.full((4, 3), math.nan) / h.exp()).mean(), None),
    "data over zeros that are held": (lambda h: (torch.ones(4, 3) / (h * 0)).mean(), "DivBackward0"),
    "data whose sum alone is held": (lambda h: (h + torch.full((4, 3), math.nan)).square().mean(), None),
    "data that are added": (lambda h: (h + torch.full((4, 3), math.nan)).exp().mean(), None),
    "a target of data": (lambda h: F.mse_loss(h, torch.full((4, 3), math.nan)), None),
    "a part of the graph over zeros": (lambda h: (h.exp() / (h * 0)).mean(), "DivBackward0"),
}


@pytest.mark.parametrize(("loss", "node"), DATA.values(), ids=list(DATA))
def test_data_that_may_have_been_spoiled_excuse_the_node(loss: Loss, node: str | None) -> None:
    found = birth_in(loss(leaf() * 1.0))
    assert (found.node.name() if found is not None else None) == node


# -------------------------------------------------------------------------------------------- what came with the data

SPOILED = torch.tensor([[1.0] * 3, [1.0, math.nan, 1.0], [1.0] * 3, [1.0] * 3])
BROUGHT: dict[str, tuple[str, Loss]] = {
    "a target": ("MseLoss", lambda h: F.mse_loss(h * 2, SPOILED)),
    "a target of absolute errors": ("SmoothL1Loss", lambda h: F.smooth_l1_loss(h * 2, SPOILED)),
    "an input of a layer": ("Mm", lambda h: (SPOILED @ h.T).relu().mean()),
    "weights of a product": ("Mul", lambda h: (h.exp() * SPOILED).mean()),
}  # fmt: skip
NOT_BROUGHT: dict[str, Loss] = {
    "born before": lambda h: F.mse_loss(h.log(), SPOILED),
    "spoiled leaves": lambda h: F.mse_loss((h * math.nan).detach().requires_grad_() * 1, SPOILED),
    "left out": lambda h: torch.where(SPOILED.isnan(), h, h * 2).mean(),
    "infinities": lambda h: (h.exp() * torch.full((4, 3), INF)).mean(),
    "finite data": lambda h: F.mse_loss(h, torch.zeros(4, 3)),
}


@pytest.mark.parametrize(("node", "loss"), BROUGHT.values(), ids=list(BROUGHT))
def test_nan_that_came_with_the_data_is_told_from_what_was_born(node: str, loss: Loss) -> None:
    root = loss(leaf())
    brought = brought_in(nodes_of([root]))
    assert birth_in(root) is None
    assert brought is not None
    assert brought.node.name() == f"{node}Backward0"
    assert brought.data.shape in (SPOILED.shape, SPOILED.T.shape)


@pytest.mark.parametrize("loss", NOT_BROUGHT.values(), ids=list(NOT_BROUGHT))
def test_other_losses_accuse_no_data(loss: Loss) -> None:
    assert brought_in(nodes_of([loss(leaf())])) is None
