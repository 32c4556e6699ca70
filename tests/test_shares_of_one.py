"""Ways in a graph on which no gradient passes, since a single number is made a share of itself."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from autograd_doctor.reading.graph_walk import GraphWalk
from autograd_doctor.reading.shares_of_one import leaves_behind_shares

pytestmark = pytest.mark.needs_torch("2.6", "nodes that tell the shape of what they made")


def left_behind(loss: Tensor, *asked: Tensor) -> list[bool]:
    walk = GraphWalk([loss], backward=1, step=0)
    found = {id(walk.leaves[key]) for key in leaves_behind_shares(walk)}
    return [id(each) in found for each in asked]


def shares(x: Tensor) -> Tensor:
    return x / x.sum(-1, keepdim=True)


def by_hand(x: Tensor) -> Tensor:
    return x.exp() / x.exp().sum(1)[:, None]


SHARES: list[Callable[[Tensor], Tensor]] = [
    lambda x: x.softmax(-1),
    lambda x: x.log_softmax(1),
    shares,
    lambda x: x / x.sum(1).unsqueeze(1),
    lambda x: x - x.logsumexp(-1, keepdim=True),
    lambda x: F.cross_entropy(x, torch.zeros(len(x), dtype=torch.long)),
    lambda x: torch.distributions.Categorical(probs=x.softmax(-1)).entropy(),
]


@pytest.mark.parametrize("share", SHARES)
def test_a_share_of_one_is_told_from_one_of_several(share: Callable[[Tensor], Tensor]) -> None:
    for size in (1, 3):
        x = torch.rand(4, size, requires_grad=True)
        assert left_behind(share(x).sum(), x) == [size == 1]


def test_what_is_no_share_of_itself() -> None:
    x, y = torch.rand(4, 1, requires_grad=True), torch.rand(4, 1, requires_grad=True)
    assert left_behind((x / y.sum(1, keepdim=True)).sum(), x, y) == [False, False]
    assert left_behind((x / x.sum(0, keepdim=True)).sum(), x) == [False]
    assert left_behind((x - x.sum(1, keepdim=True)).sum(), x) == [False]
    assert left_behind(by_hand(x).sum(), x) == [False]  # two exponentials, which nothing shows to be the same


def test_a_parameter_with_another_way_to_the_loss() -> None:
    x, y = torch.rand(4, 1, requires_grad=True), torch.rand(4, 1, requires_grad=True)
    assert left_behind((x.softmax(1) * y).sum() + x.sum(), x, y) == [False, False]
    assert left_behind((x.softmax(1) * y).sum(), x, y) == [True, False]


@pytest.mark.parametrize("keys", [1, 2])
def test_attention_to_one_key_teaches_values_alone(keys: int) -> None:
    q, k, v = (torch.rand(2, 2, size, 4, requires_grad=True) for size in (3, keys, keys))
    for drop in (0.0, 0.1):
        loss = F.scaled_dot_product_attention(q, k, v, dropout_p=drop).sum()
        assert left_behind(loss, q, k, v) == [keys == 1, keys == 1, False]
    frozen = F.scaled_dot_product_attention(q, k.detach(), v).sum()
    assert left_behind(frozen, q, v) == [keys == 1, False]


def test_attention_as_a_module() -> None:
    attention = nn.MultiheadAttention(8, 2, kdim=4, vdim=4, batch_first=True)
    context = torch.rand(2, 1, 4)
    out, _ = attention(torch.rand(2, 3, 8), context, context)
    assert left_behind(out.sum(), attention.q_proj_weight, attention.v_proj_weight) == [True, False]
