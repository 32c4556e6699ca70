"""Choices of what a mask filled in, which a hinge swallows."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.nn import functional

from autograd_doctor.events.numerics import ChoiceSwallowed
from autograd_doctor.instruments.numerics.swallowed_choices import SwallowedChoices
from tests.watching import watching

INFINITE = float("inf")
ITSELF = torch.eye(6, dtype=torch.bool)
Term = Callable[[torch.Tensor, int], torch.Tensor]


def told(term: Term) -> list[ChoiceSwallowed]:
    """What is stated in four steps that add a term of distances within a batch; it is told the step as well."""
    model = nn.Linear(4, 3)
    with watching(SwallowedChoices) as recorded:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for step in range(4):
            codes = model(torch.randn(6, 4))
            apart = (codes[:, None] - codes[None]).square().sum(-1)
            optimizer.zero_grad()
            (codes.square().mean() + 0.5 * term(apart, step)).backward()
            optimizer.step()
    assert not recorded.failures
    return recorded.of(ChoiceSwallowed)


def hinged(value: float, choice: str = "amax", hinge: Callable[..., torch.Tensor] = torch.relu) -> Term:
    def term(apart: torch.Tensor, step: int) -> torch.Tensor:
        chosen: torch.Tensor = getattr(apart.masked_fill(ITSELF, value), choice)(1)
        return hinge(1 - chosen).mean()

    return term


@pytest.mark.parametrize(
    ("term", "value"),
    [
        pytest.param(hinged(INFINITE), None, id="infinity"),
        pytest.param(hinged(1e8), 1e8, id="a large number"),
        pytest.param(hinged(-INFINITE, "amin", lambda x: functional.relu(-x)), None, id="a minimum"),
        pytest.param(hinged(INFINITE, "amax", functional.softplus), None, id="softplus"),
        pytest.param(hinged(INFINITE, "logsumexp", lambda x: x.clamp(min=0)), None, id="a soft choice, a clamp"),
    ],
)
def test_a_mask_that_decides_all(term: Term, value: float | None) -> None:
    events = told(term)
    assert [event.step for event in events] == [0, 1, 2, 3]
    first = events[0]
    assert first.swallowed
    assert first.value == value
    assert first.elements == 6
    assert len(first.parameters) == 2
    assert first.chosen_at is not None
    assert first.written_at is not None
    assert first.written_at.line == first.chosen_at.line


def in_one_half(apart: torch.Tensor, step: int) -> torch.Tensor:
    return torch.relu(1 - apart.masked_fill(ITSELF & (torch.arange(6) < 3), INFINITE).amax(1)).mean()


def of_nothing_else(apart: torch.Tensor, step: int) -> torch.Tensor:
    return torch.relu(1 - apart.masked_fill(torch.ones_like(ITSELF), INFINITE).amin(1)).mean()


def inside(apart: torch.Tensor, step: int) -> torch.Tensor:
    return (torch.relu(1 - apart.masked_fill(ITSELF, INFINITE).amax(1)) @ torch.ones(6)) * apart.mean()


@pytest.mark.parametrize(
    "term",
    [
        pytest.param(hinged(INFINITE, "amin"), id="the right sign"),
        pytest.param(hinged(50.0), id="a small number"),
        pytest.param(in_one_half, id="in some rows"),
        pytest.param(of_nothing_else, id="without a choice"),
        pytest.param(inside, id="no term"),
        pytest.param(lambda apart, step: torch.relu(apart.amax(1) - INFINITE).mean(), id="an infinite margin"),
    ],
)
def test_what_a_mask_does_not_decide(term: Term) -> None:
    assert not told(term)


def test_its_end_is_told() -> None:
    def term(apart: torch.Tensor, step: int) -> torch.Tensor:
        return torch.relu(1 - apart.masked_fill(ITSELF & torch.tensor(step < 2), INFINITE).amax(1)).mean()

    assert [event.swallowed for event in told(term)] == [True, True, False]
