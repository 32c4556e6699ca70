"""Which leaves work on what was computed from trained ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest
import torch
from torch import nn

from autograd_doctor.reading.graph_order import before, behind
from autograd_doctor.reading.graph_walk import GraphWalk

FIRST, SECOND = nn.Linear(3, 4), nn.Linear(4, 2)
POSITIONS, TOKENS, STRANGER = nn.Parameter(torch.ones(5, 3)), nn.Embedding(7, 3), nn.Linear(3, 4)


Named = dict[str, torch.Tensor]
Ordered = Callable[[GraphWalk, Iterable[int], Iterable[int]], set[int]]


def names_of(where: Ordered, loss: torch.Tensor, trained: Named, others: Named) -> set[str]:
    walk = GraphWalk([loss], backward=0, step=0)
    key = {id(leaf): key for key, leaf in walk.leaves.items()}
    found = where(walk, [key[id(leaf)] for leaf in others.values()], [key[id(leaf)] for leaf in trained.values()])
    return {name for name, leaf in others.items() if key[id(leaf)] in found}


def names_behind(loss: torch.Tensor, trained: Named, others: Named) -> set[str]:
    return names_of(behind, loss, trained, others)


def names_before(loss: torch.Tensor, trained: Named, others: Named) -> set[str]:
    return names_of(before, loss, trained, others)


def parameters(module: nn.Module) -> dict[str, torch.Tensor]:
    return dict(module.named_parameters())


def loss() -> torch.Tensor:
    return SECOND(FIRST(torch.ones(6, 3)).relu()).square().mean()  # type: ignore[no-any-return]


def test_a_head_is_behind_its_backbone() -> None:
    assert names_behind(loss(), parameters(FIRST), parameters(SECOND)) == {"weight", "bias"}
    assert names_behind(loss(), parameters(SECOND), parameters(FIRST)) == set()


def test_parts_of_one_module_work_together() -> None:
    trained, left_out = {"first": FIRST.weight}, {"second": FIRST.bias}
    assert names_behind(loss(), trained, left_out) == {"second"}


def test_positions_are_added_to_tokens() -> None:
    value = (TOKENS(torch.arange(5)) + POSITIONS).square().mean()
    assert names_behind(value, parameters(TOKENS), {"positions": POSITIONS}) == {"positions"}


def test_branches_that_meet_in_the_loss_alone_work_together_there() -> None:
    x = torch.ones(6, 3)
    together = FIRST(x).square().mean() + STRANGER(x).square().mean()
    assert names_behind(together, parameters(FIRST), parameters(STRANGER)) == set()


@pytest.mark.parametrize("move", [lambda w: w.t().contiguous(), lambda w: w.double().float().t()])
def test_a_weight_that_was_moved_first(move: Callable[[torch.Tensor], torch.Tensor]) -> None:
    hidden = TOKENS(torch.arange(5))
    value = (hidden @ move(STRANGER.weight)).square().mean()
    assert names_behind(value, parameters(TOKENS), {"weight": STRANGER.weight}) == {"weight"}
    assert names_behind(value, {"weight": STRANGER.weight}, parameters(TOKENS)) == {"weight"}


def test_a_backbone_is_before_its_head() -> None:
    assert names_before(loss(), parameters(SECOND), parameters(FIRST)) == {"weight", "bias"}
    assert names_before(loss(), parameters(FIRST), parameters(SECOND)) == set()


@pytest.mark.parametrize("move", [lambda w: w.t(), lambda w: w.t().contiguous(), lambda w: w.double().float().t()])
def test_a_backbone_is_before_a_head_without_bias(move: Callable[[torch.Tensor], torch.Tensor]) -> None:
    value = (FIRST(torch.ones(6, 3)) @ move(SECOND.weight)).square().mean()
    assert names_before(value, {"weight": SECOND.weight}, parameters(FIRST)) == {"weight", "bias"}


@pytest.mark.parametrize("bias", [True, False])
def test_who_stands_beside_is_before_nobody(bias: bool) -> None:
    x, beside = torch.ones(6, 3), nn.Linear(3, 4, bias=bias)
    together = FIRST(x).square().mean() + beside(x).square().mean()
    assert names_before(together, parameters(beside), parameters(FIRST)) == set()
    assert names_before(together, parameters(FIRST), parameters(beside)) == set()
