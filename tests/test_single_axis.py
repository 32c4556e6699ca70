"""How a program treats a dimension of size one."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from autograd_doctor.events.losses import SoftmaxOfOne
from autograd_doctor.instruments.losses.lone_softmaxes import LoneSoftmaxes
from tests.watching import watching

STATES = torch.rand(4, 7, 5, requires_grad=True)
ONE_STATE = torch.rand(4, 1, 5, requires_grad=True)


def told(scores: Callable[[], Tensor], use: Callable[[Tensor], Tensor], dim: int) -> list[SoftmaxOfOne]:
    with watching(LoneSoftmaxes) as recorded:
        use(scores().softmax(dim)).sum().backward()
    assert not recorded.failures
    return recorded.of(SoftmaxOfOne)


def column() -> Tensor:
    return torch.rand(4, 7, 1, requires_grad=True)


def for_none(use: Callable[[Tensor], Tensor], *shape: int, dim: int = -1) -> bool:
    events = told(lambda: torch.rand(shape, requires_grad=True), use, dim)
    return any(event.for_none for event in events)


def stretched(weights: Tensor) -> Tensor:
    return weights.expand_as(STATES) * STATES


FOR_NONE: list[Callable[[Tensor], Tensor]] = [
    lambda weights: (weights * STATES).sum(1),
    lambda weights: (STATES * F.dropout(weights, 0.1)).sum(1),
    stretched,
    lambda weights: weights.squeeze(-1),
    lambda weights: (weights.transpose(1, 2) @ STATES).squeeze(1),
    lambda weights: (weights.mT @ STATES).squeeze(1),
    lambda weights: torch.bmm(STATES.transpose(1, 2), weights).squeeze(-1),
    lambda weights: torch.einsum("nsk,nsd->nd", weights, STATES),
    lambda weights: (weights.unsqueeze(0) * STATES).sum(2),
]
AS_ONE_OF_SOME: list[tuple[Callable[[Tensor], Tensor], tuple[int, ...], int]] = [
    (lambda weights: (weights.unsqueeze(2) * ONE_STATE).sum(1), (4, 1), 1),
    (lambda weights: (weights.unsqueeze(1) @ ONE_STATE).squeeze(1), (4, 1), 1),
    (lambda weights: weights @ ONE_STATE, (4, 3, 1), 2),
    (lambda weights: torch.einsum("bk,bkd->bd", weights, ONE_STATE), (4, 1), 1),
    (lambda weights: torch.einsum("bsk,bsd->bkd", weights, STATES), (4, 7, 1), 2),
    (lambda weights: weights.transpose(1, 2) @ STATES, (4, 7, 1), 2),
    (lambda weights: torch.einsum("bk->b", weights), (4, 1), 1),
    (lambda weights: weights[:, 0:1] * STATES[:, 0], (4, 1), 1),
    (lambda weights: weights.squeeze(-1) @ ONE_STATE[0], (4, 1, 1), 1),
    (lambda weights: weights.sum(), (4, 1), 1),
]


@pytest.mark.parametrize("use", FOR_NONE)
def test_a_dimension_that_is_taken_for_none(use: Callable[[Tensor], Tensor]) -> None:
    assert for_none(use, 4, 7, 1)


@pytest.mark.parametrize(("use", "shape", "dim"), AS_ONE_OF_SOME)
def test_a_dimension_that_happens_to_have_one_entry(
    use: Callable[[Tensor], Tensor], shape: tuple[int, ...], dim: int
) -> None:
    assert not for_none(use, *shape, dim=dim)


def chosen(scores: Callable[[Tensor], Tensor], dim: int = 1) -> bool:
    events = told(lambda: scores(torch.rand(4, 3, requires_grad=True)), torch.sum, dim)
    return any(event.chosen for event in events)


def test_one_of_several_by_their_values() -> None:
    assert chosen(lambda x: x.topk(1, dim=1).values)
    assert chosen(lambda x: x.max(dim=1, keepdim=True).values / 2)
    assert chosen(lambda x: x.amax(1).unsqueeze(1))
    assert chosen(lambda x: x.gather(1, x.argmax(1, keepdim=True)).exp())
    assert chosen(lambda x: x.sort(1, descending=True).values[:, :1])


def test_one_that_was_not_chosen() -> None:
    assert not chosen(lambda x: x[:, :1])
    assert not chosen(lambda x: F.linear(x, torch.ones(1, 3)))
    assert not chosen(lambda x: F.linear(x.topk(2, dim=1).values, torch.ones(1, 2)))
    assert not chosen(lambda x: x.unsqueeze(1).amax(2))  # the best of three for the only key
